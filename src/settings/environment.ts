/** Reads variables of a given environment by name. @module */

import { cleanPasted, trimPasted } from "../std/pasted_text.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables with the API keys of the environments that a project's rowhouse.json lists. */
export const ENVIRONMENT_KEY = /^ROWHOUSE_API_KEY_[A-Z][A-Z0-9_]*$/;

/** The variable that holds the API key of a named environment. */
export function toKeyVariable(environment: string): string {
  return `ROWHOUSE_API_KEY_${environment.toUpperCase().replaceAll("-", "_")}`;
}

/** The API key of a named environment. */
export function readEnvironmentKey(env: Environment, environment: string): string | undefined {
  const text = readVariable(env, toKeyVariable(environment));
  return text === undefined ? undefined : toApiKey(text);
}

/** The API key in a pasted header or in wrapped lines; a key has no spaces. */
export function toApiKey(text: string): string {
  return text.replace(/^(authorization:\s*)?bearer\s+/i, "").replace(/[\s\p{Cf}]/gu, "");
}

/** The variable with the path of the file that contains a secret. */
export function toFileVariable(name: string): string {
  return `${name}_FILE`;
}

/** Whether a secret is set, directly or by a file, even by one that cannot be used. */
export function isGiven(env: Environment, name: string): boolean {
  return [name, toFileVariable(name)].some((given) => readVariable(env, given) !== undefined);
}

/**
 * The variable's value without what a paste, a file with Windows line ends, systemd, Compose or `docker --env-file` leaves around
 * it: spaces, line ends, invisible characters, quotes, its own name. An empty variable counts as unset.
 */
export function readVariable(env: Environment, name: string): string | undefined {
  const text = trimPasted(env[name] ?? "").replace(/^export\s+/, "");
  const value = text.startsWith(`${name}=`) ? trimPasted(text.slice(name.length + 1)) : text;
  return value === "" ? undefined : value;
}

/** The role that the environment sets; not necessarily a role that exists. */
export function readRole(env: Environment): string {
  return toTerm(readVariable(env, "ROLE") ?? "all");
}

/** A term of a setting in the form that is compared. */
export function toTerm(text: string): string {
  return cleanPasted(text).toLowerCase();
}
