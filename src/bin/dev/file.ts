/** `.rowhouse/dev.json`: the addresses and keys of a running `rowhouse dev`, for other commands and tests. @module */
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
  /** The connection string of the administrator. */
  databaseUrl: v.string(),
  identitySecrets: v.array(v.string()),
  /** Can do everything on every app. */
  admin: v.object({ email: v.string(), password: v.string() }),
  /** Has a role on the demo app. */
  user: v.object({ email: v.string(), password: v.string() }),
});
export type DevFile = v.InferOutput<typeof DevFile>;

function toPath(folder: string): string {
  return join(folder, DEV_FILE);
}

/** The file in a project's folder; `undefined` if it is missing or invalid. */
export function readDevFile(folder: string): DevFile | undefined {
  try {
    return v.parse(DevFile, JSON.parse(readFileSync(toPath(folder), "utf8")));
  } catch {
    return undefined; // no dev here: the caller reports which setting is missing
  }
}

/** The address of the database, as its administrator; errors name the file. */
export function toDevAddress({ databaseUrl }: DevFile): { url: string; variable: string } {
  return { url: databaseUrl, variable: DEV_FILE };
}

/** Prints a notice that a command uses dev's database, because the person may expect another one. */
export function reportDevDatabase({ warn }: Pick<Terminal, "warn">): void {
  warn(
    `Notice: using the database of rowhouse dev (${DEV_FILE}), because neither ADMIN_DATABASE_URL nor DATABASE_URL is set`,
  );
}

/** Readable only by its owner: the file contains a key and passwords. */
export function writeDevFile(folder: string, file: DevFile): void {
  writeAtomically(toPath(folder), `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
}

export function removeDevFile(folder: string): void {
  rmSync(toPath(folder), { force: true });
}
