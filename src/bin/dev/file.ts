/** `.rowhouse/dev.json`: the addresses and keys of a running `rowhouse dev`, for other commands and tests. @module */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { writeAtomically } from "../../std/files.ts";
import type { Setting } from "../cli/command.ts";
import type { Address } from "../cli/settings.ts";

export const HIDDEN_FOLDER = ".rowhouse";
export const DEV_FILE = `${HIDDEN_FOLDER}/dev.json`;

const Person = v.object({ email: v.string(), password: v.string() });
export const DevPeople = v.object({
  /** Can do everything on every app. */
  admin: Person,
  /** Has a role on the demo app. */
  user: Person,
});
export type DevPeople = v.InferOutput<typeof DevPeople>;

const DevFile = v.object({
  baseUrl: v.string(),
  gatewayUrl: v.string(),
  identityUrl: v.string(),
  app: v.string(),
  apiKey: v.string(),
  /** The connection string of the administrator. */
  databaseUrl: v.string(),
  identitySecrets: v.array(v.string()),
  ...DevPeople.entries,
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

/**
 * A running `dev` with the administrator's address of its database, for commands without a database setting. Prints a notice,
 * because the person may expect another database.
 */
export function findDevDatabase({
  folder,
  terminal,
}: Pick<Setting, "folder" | "terminal">): (DevFile & { address: Address }) | undefined {
  const dev = readDevFile(folder);
  if (dev === undefined) return undefined;
  terminal.warn(
    `Notice: using the database of rowhouse dev (${DEV_FILE}), because neither ADMIN_DATABASE_URL nor DATABASE_URL is set`,
  );
  return { ...dev, address: { url: dev.databaseUrl, variable: DEV_FILE } };
}

/** Readable only by its owner: the file contains a key and passwords. */
export function writeDevFile(folder: string, file: DevFile): void {
  writeAtomically(toPath(folder), `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
}

export function removeDevFile(folder: string): void {
  rmSync(toPath(folder), { force: true });
}
