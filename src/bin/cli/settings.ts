/** The configuration for commands: all faults at once, never a value. @module */
import { type Config, type Environment, readConfig, type SettingName } from "../../config.ts";
import { ROLES, servesPeople } from "../../role.ts";
import { EXIT, RefusedError, UsageError } from "./command.ts";

/** @throws {RefusedError} naming every variable with a fault, and every required one that is missing */
export function readSettings<Wanted extends SettingName = never>(
  env: Environment,
  ...wanted: Wanted[]
): Config & { [Name in Wanted]: NonNullable<Config[Name]> } {
  const read = readConfig(env);
  const missing = wanted
    .filter((name) => !env[name])
    .map((name) => `${name} is not set: see .env.example`);
  if ("config" in read && missing.length === 0)
    return read.config as ReturnType<typeof readSettings<Wanted>>;
  throw refuse([...("faults" in read ? read.faults : []), ...missing]);
}

/**
 * The settings, without what only a process that serves as ROLE needs.
 *
 * @throws {RefusedError} naming every variable with a fault
 */
export function readMigrateSettings(env: Environment): Config {
  const read = readConfig(env, { checksRole: false });
  if ("faults" in read) throw refuse(read.faults);
  return read.config;
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

/** The text of a flag as a whole number. */
export function readWhole(flag: string, text: string, [least, most]: [number, number]): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw new UsageError(`Cannot read ${flag}: must be a whole number from ${least} to ${most}`);
}
