/**
 * `.rowhouse/dev.json`: the addresses and keys of a running `rowhouse dev`, for other commands and tests. A `dev` of another folder
 * is recognized by a header: the migrations of every `dev` are private, and never become files of a project.
 *
 * @module
 */

import { closeSync, fstatSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { describeUnreadable, nameFormat } from "../format.ts";
import { anyNames } from "../std/any_names.ts";
import { readIfThere, writeAtomically } from "../std/files.ts";
import { isObject, tryParseJson } from "../std/json.ts";
import { isLoopback } from "../std/network.ts";
import { quote } from "../std/quote.ts";
import { RejectedError, type Setting } from "./command.ts";
import type { Address } from "./settings.ts";

export const HIDDEN_FOLDER = ".rowhouse";
export const DEV_FILE = `${HIDDEN_FOLDER}/dev.json`;
/** The secrets that `dev` keeps from run to run. */
export const SECRETS_FILE = `${HIDDEN_FOLDER}/secrets.json`;

const Person = v.object({ email: v.string(), password: v.string() });
export const DevPeople = v.object({
  /** Can do everything on every app. */
  admin: Person,
  /** Has a role on the demo app. */
  user: Person,
  /** A person for each other role of the schema's rules, by role. */
  roles: v.optional(anyNames(Person)),
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
  /** Lets tests create people. A new one for each run of `dev`; missing in files of older releases. */
  testToken: v.optional(v.string()),
  ...DevPeople.entries,
});
export type DevFile = v.InferOutput<typeof DevFile>;

function toPath(folder: string): string {
  return join(folder, DEV_FILE);
}

/** The file in a project's folder; `undefined` if it is missing or invalid, or if `dev` cannot have written it. */
export function readDevFile(folder: string): DevFile | undefined {
  return readFile(folder)?.file;
}

/**
 * The file, for a command that will use its addresses and keys.
 *
 * @throws {RejectedError} `dev` cannot have written it: a cloned repository can contain such a file
 */
export function findDevFile(folder: string): DevFile | undefined {
  const read = readFile(folder);
  if (read?.issue === undefined) return read?.file;
  throw new RejectedError(`Cannot use ${DEV_FILE}: ${read.issue}`);
}

/** Whether `dev` of this folder issued a key, also while it does not run. */
export function isDevKey(folder: string, key: string): boolean {
  const content = tryParseJson(readIfThere(join(folder, SECRETS_FILE)) ?? "");
  return isObject(content) && content["apiKey"] === key;
}

type Reading = { file: DevFile; issue?: never } | { issue: string; file?: never };

function readFile(folder: string): Reading | undefined {
  try {
    const { text, issue } = readOwn(toPath(folder));
    const content: unknown = JSON.parse(text);
    const unreadable = issue === undefined ? describeUnreadable("dev", content) : undefined;
    if (unreadable !== undefined) return { issue: `it ${unreadable}` };
    const file = v.parse(DevFile, content);
    const planted = issue ?? findForeignAddress(file);
    return planted === undefined
      ? { file }
      : { issue: `${planted}. Delete the file, and start rowhouse dev` };
  } catch {
    return undefined; // no dev here: the caller reports which setting is missing
  }
}

/** The text of a file, and why this account's `dev` cannot have written it. */
function readOwn(path: string): { text: string; issue: string | undefined } {
  const file = openSync(path, "r");
  try {
    const { uid, mode } = fstatSync(file);
    const own = process.getuid?.();
    // Without user ids, as on Windows, modes have no meaning.
    const isOwn = own === undefined || (uid === own && (mode & OTHERS) === 0);
    const issue = isOwn ? undefined : "it must belong to you, with the mode 0600";
    return { text: readFileSync(file, "utf8"), issue };
  } finally {
    closeSync(file);
  }
}

/** The bits of a mode that are rights of other accounts. */
const OTHERS = 0o077;

/** Git can create a file with the right mode: the addresses decide. */
function findForeignAddress({ baseUrl, gatewayUrl, identityUrl }: DevFile): string | undefined {
  const foreign = [baseUrl, gatewayUrl, identityUrl].find((url) => !isLoopback(url));
  return foreign && `${quote(foreign)} is not an address of this machine`;
}

/**
 * A running `dev` with the administrator's address of its database, for commands without a database setting. Prints a notice,
 * because the person may expect another database.
 */
export function findDevDatabase({
  folder,
  terminal,
}: Pick<Setting, "folder" | "terminal">): (DevFile & { address: Address }) | undefined {
  const dev = findDevFile(folder);
  if (dev === undefined) return undefined;
  // `dev --database` can use a database of another machine.
  if (!isLoopback(dev.databaseUrl))
    throw new RejectedError(
      `Cannot use the database in ${DEV_FILE}: it is not on this machine. Set ADMIN_DATABASE_URL`,
    );
  terminal.warn(
    `Notice: using the database of rowhouse dev (${DEV_FILE}), because neither ADMIN_DATABASE_URL nor DATABASE_URL is set`,
  );
  return { ...dev, address: { url: dev.databaseUrl, variable: DEV_FILE } };
}

/** Readable only by its owner: the file contains a key and passwords. */
export function writeDevFile(folder: string, file: DevFile): void {
  const text = JSON.stringify({ ...nameFormat("dev"), ...file }, null, 2);
  writeAtomically(toPath(folder), `${text}\n`, { mode: 0o600 });
}

export function removeDevFile(folder: string): void {
  rmSync(toPath(folder), { force: true });
}

/** The header of the response at {@linkcode MARKED_PATH} by which a `dev` is recognized. */
export const MARK = "rowhouse-dev";
export const MARKED_PATH = "/live";
const PATIENCE_MS = 3000;

/** Whether a `dev` listens there. Without a response the command itself reports that. */
export async function servesDev(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch(url + MARKED_PATH, { redirect: "manual", signal }).catch(
    () => undefined,
  );
  return response?.headers.has(MARK) === true;
}
