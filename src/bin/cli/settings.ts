/** The configuration for commands: all faults at once, never a value. @module */
import { type Config, type Environment, readConfig, type SettingName } from "../../config/mod.ts";
import { ROLES, servesPeople } from "../../role.ts";
import { EXIT, RefusedError, UsageError } from "./command.ts";
import { findConflicts } from "./conflicts.ts";

/** @throws {RefusedError} naming every variable with a fault, and every required one that is missing */
export function readSettings<Wanted extends SettingName = never>(
  env: Environment,
  ...wanted: Wanted[]
): Config & { [Name in Wanted]: NonNullable<Config[Name]> } {
  const read = readConfig(env);
  const missing = wanted.filter((name) => !env[name]).map(toMissing);
  if ("config" in read && missing.length === 0)
    return read.config as ReturnType<typeof readSettings<Wanted>>;
  throw refuse([...("faults" in read ? read.faults : []), ...missing]);
}

/**
 * The settings of a process that serves.
 *
 * @throws {RefusedError} naming every fault, every setting that is missing, and every two that cannot work together
 */
export async function readServeSettings(env: Environment): Promise<ServeConfig> {
  const faults = [...findCommandLogins(env), ...(await findServeFaults(env))];
  if (faults.length > 0) throw refuse(faults);
  return readSettings(env, "DATABASE_URL");
}
/** The login that reaches the rows of every app: the operator's environment has it, and doctor accepts it there. */
function findCommandLogins(env: Environment): string[] {
  if (!env["ROWS_DATABASE_URL"]) return [];
  return [
    "ROWS_DATABASE_URL must not be set for a process that serves, because its login reaches the rows of every app: remove it here, and set it only where rowhouse migrate and rowhouse admin run",
  ];
}

export type ServeConfig = ReturnType<typeof readSettings<"DATABASE_URL">>;

/** What keeps a process with these settings from serving, all at once. */
export async function findServeFaults(env: Environment): Promise<string[]> {
  const read = readConfig(env);
  const needed = hasPeople(env) ? ["DATABASE_URL", "IDENTITY_SECRET"] : ["DATABASE_URL"];
  return [
    ...("faults" in read ? read.faults : []),
    ...needed.filter((name) => !env[name]).map(toMissing),
    ...(await findConflicts("faults" in read ? read.sound : read.config)),
  ];
}

/**
 * The settings, without what only a process that serves as ROLE needs.
 *
 * @throws {RefusedError} naming every fault, and every two settings that cannot work together
 */
export async function readMigrateSettings(env: Environment): Promise<Config> {
  const read = readConfig(env, { checksRole: false });
  const conflicts = await findConflicts("faults" in read ? read.sound : read.config);
  if ("config" in read && conflicts.length === 0) return read.config;
  throw refuse([...("faults" in read ? read.faults : []), ...conflicts]);
}

function toMissing(name: string): string {
  return `${name} is not set: see .env.example`;
}

function refuse(faults: readonly string[]): RefusedError {
  const lines = faults.map((fault) => `  ${fault}`);
  return new RefusedError(
    `Cannot start: the configuration has faults\n${lines.join("\n")}`,
    EXIT.refused,
    {
      code: "invalid_settings",
      details: faults.map((message) => ({ path: "", message })),
    },
  );
}

/** Whether people sign in at a process with this environment, which then needs IDENTITY_SECRET. */
export function hasPeople(env: Environment): boolean {
  return ROLES.some((role) => role === (env["ROLE"] || "all") && servesPeople(role));
}

/** A connection string and the variable that it came from. */
export type Address = { url: string; variable: string };

/** The administrator's address: `ADMIN_DATABASE_URL`, else `DATABASE_URL`. */
export function findAdminAddress(config: Config): Address | undefined {
  if (config.ADMIN_DATABASE_URL !== undefined)
    return { url: config.ADMIN_DATABASE_URL, variable: "ADMIN_DATABASE_URL" };
  if (config.DATABASE_URL !== undefined)
    return { url: config.DATABASE_URL, variable: "DATABASE_URL" };
  return undefined;
}

/** The text of a flag as a whole number. */
export function readWhole(flag: string, text: string, [min, max]: [number, number]): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
  throw new UsageError(`Cannot read ${flag}: must be a whole number from ${min} to ${max}`);
}
