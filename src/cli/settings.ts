/** The configuration for commands. Reports all errors together, and never a value. @module */

import { type Log, makeLog } from "../observe.ts";
import { ROLES, servesPeople } from "../role.ts";
import {
  type Config,
  dropConsequences,
  type Environment,
  findConflicts,
  forwards,
  readConfig,
  readRole,
  readVariable,
  type SettingName,
} from "../settings/mod.ts";
import { FETCH_LIMIT } from "../std/network.ts";
import { EXIT, RejectedError, type Setting, UsageError } from "./command.ts";

/** @throws {RejectedError} lists all invalid and all missing variables */
export function readSettings<Wanted extends SettingName = never>(
  env: Environment,
  ...wanted: Wanted[]
): Config & { [Name in Wanted]: NonNullable<Config[Name]> } {
  const read = readConfig(env);
  const missing = wanted.filter((name) => readVariable(env, name) === undefined).map(toMissing);
  if ("config" in read && missing.length === 0)
    return read.config as ReturnType<typeof readSettings<Wanted>>;
  throw reject([...("issues" in read ? read.issues : []), ...missing]);
}

/**
 * The settings of a process that serves.
 *
 * @throws {RejectedError} lists all invalid, missing and conflicting settings
 */
export async function readServeSettings(env: Environment): Promise<ServeConfig> {
  const issues = [
    ...findCommandLogins(env),
    ...findMissingLimit(env),
    ...(await findServeIssues(env)),
  ];
  if (issues.length > 0) throw reject(issues);
  return readSettings(env, "DATABASE_URL");
}

/** The command sets it before Bun starts (`rowhouse.ts`); only where it cannot, the operator must. */
function findMissingLimit(env: Environment): string[] {
  const { variable, max } = FETCH_LIMIT;
  if (!forwards(readRole(env)) || env[variable]) return [];
  return [`${variable} is not set: set it to ${max} before Bun starts`];
}

/** Only the operator's environment may set the login that reaches the rows of every app; doctor accepts it there. */
function findCommandLogins(env: Environment): string[] {
  if (readVariable(env, "ROWS_DATABASE_URL") === undefined) return [];
  return [
    "ROWS_DATABASE_URL must not be set for a serving process, because its login reaches the rows of every app: remove it here, and set it only for rowhouse migrate and rowhouse admin",
  ];
}

export type ServeConfig = ReturnType<typeof readSettings<"DATABASE_URL">>;

/** All errors that prevent a process with these settings from serving. */
export async function findServeIssues(env: Environment): Promise<string[]> {
  const read = readConfig(env);
  const needed = hasPeople(env) ? ["DATABASE_URL", "IDENTITY_SECRET"] : ["DATABASE_URL"];
  return dropConsequences([
    ...("issues" in read ? read.issues : []),
    ...needed.filter((name) => readVariable(env, name) === undefined).map(toMissing),
    ...(await findConflicts("issues" in read ? read.sound : read.config)),
  ]);
}

/**
 * The settings, without those that only a serving process requires.
 *
 * @throws {RejectedError} lists all invalid and conflicting settings
 */
export async function readMigrateSettings(env: Environment): Promise<Config> {
  const read = readConfig(env, { checksRole: false });
  const conflicts = await findConflicts("issues" in read ? read.sound : read.config);
  if ("config" in read && conflicts.length === 0) return read.config;
  throw reject([...("issues" in read ? read.issues : []), ...conflicts]);
}

function toMissing(name: string): string {
  const how =
    name === "IDENTITY_SECRET" ? "create one with openssl rand -hex 32" : "see .env.example";
  return `${name} is not set: ${how}`;
}

function reject(found: readonly string[]): RejectedError {
  const issues = dropConsequences(found);
  const lines = issues.map((issue) => `  ${issue}`);
  return new RejectedError(
    `Cannot start: invalid configuration\n${lines.join("\n")}`,
    EXIT.rejected,
    {
      code: "invalid_settings",
      details: issues.map((message) => ({ path: "", message })),
    },
  );
}

/** Whether a process with this environment serves identity and requires IDENTITY_SECRET. */
export function hasPeople(env: Environment): boolean {
  return ROLES.some((role) => role === readRole(env) && servesPeople(role));
}

/** A connection string and the variable that it came from. */
export type Address = { url: string; variable: string };

/** The administrator's address: `ADMIN_DATABASE_URL`, else `DATABASE_URL`. */
export function findAdminAddress(
  config: Partial<Pick<Config, "ADMIN_DATABASE_URL" | "DATABASE_URL">>,
): Address | undefined {
  if (config.ADMIN_DATABASE_URL !== undefined)
    return { url: config.ADMIN_DATABASE_URL, variable: "ADMIN_DATABASE_URL" };
  if (config.DATABASE_URL !== undefined)
    return { url: config.DATABASE_URL, variable: "DATABASE_URL" };
  return undefined;
}

/** Names the database of a command before its first statement. */
export function announceAddress(
  { terminal }: Pick<Setting, "terminal">,
  address: Address,
): Address {
  terminal.warn(`Destination: ${showAddress(address)}`);
  return address;
}

/** The database of a connection string, without its login. */
export function showAddress({ url, variable }: Address): string {
  if (!URL.canParse(url)) return `the database of ${variable}`;
  const { host, pathname } = new URL(url);
  return `the database ${pathname.slice(1)} at ${host} (${variable})`;
}

export function readWhole(flag: string, text: string, [min, max]: [number, number]): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
  throw new UsageError(`Cannot read ${flag} ${text}: must be a whole number from ${min} to ${max}`);
}

/** The number of shards of a database on several nodes. */
export function readShards(text: string): number {
  return readWhole("--shards", text, [1, 64_000]);
}

/** A log of JSON lines from `LOG_LEVEL` on. */
export function openLog(config: Config, write: (line: string) => void): Log {
  return makeLog(config.LOG_LEVEL, { write, now: () => new Date() });
}
