/** `.rowhouse/dev.json`: where other commands, tests and people find a running `rowhouse dev`. @module */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { writeAtomically } from "../../std/files.ts";
import type { Terminal } from "../cli/command.ts";

export const HIDDEN_FOLDER = ".rowhouse";
export const DEV_FILE = `${HIDDEN_FOLDER}/dev.json`;

const DevFile = v.object({
  baseUrl: v.string(),
  gatewayUrl: v.string(),
  identityUrl: v.string(),
  app: v.string(),
  apiKey: v.string(),
  /** The administrator's. */
  databaseUrl: v.string(),
  identitySecrets: v.array(v.string()),
  /** May do everything, on every app. */
  admin: v.object({ email: v.string(), password: v.string() }),
  /** Has a role on the demo app. */
  user: v.object({ email: v.string(), password: v.string() }),
});
export type DevFile = v.InferOutput<typeof DevFile>;

function toPath(folder: string): string {
  return join(folder, DEV_FILE);
}

/** The file in a project's folder; `undefined` if it is missing or not what `dev` writes. */
export function readDevFile(folder: string): DevFile | undefined {
  try {
    return v.parse(DevFile, JSON.parse(readFileSync(toPath(folder), "utf8")));
  } catch {
    return undefined; // no dev here: the caller says what to set
  }
}

/** Its database, as its administrator reaches it; troubles with it name the file. */
export function toDevAddress({ databaseUrl }: DevFile): { url: string; variable: string } {
  return { url: databaseUrl, variable: DEV_FILE };
}

/** Says that a command takes dev's database, which no one named: its person may have thought of another. */
export function tellDevDatabase({ warn }: Pick<Terminal, "warn">): void {
  warn(
    `Note: neither ADMIN_DATABASE_URL nor DATABASE_URL is set: this is the database of rowhouse dev (${DEV_FILE})`,
  );
}

/** Only its owner may read it: it holds a key and a password. */
export function writeDevFile(folder: string, file: DevFile): void {
  writeAtomically(toPath(folder), `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
}

export function removeDevFile(folder: string): void {
  rmSync(toPath(folder), { force: true });
}
