/** Reads variables of a given environment by name. @module */

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables with the API keys of the environments that a project's rowhouse.json lists. */
export const PLACE_KEY = /^ROWHOUSE_API_KEY_[A-Z][A-Z0-9_]*$/;

/** The variable that holds the API key of a named environment. */
export function toKeyVariable(place: string): string {
  return `ROWHOUSE_API_KEY_${place.toUpperCase().replaceAll("-", "_")}`;
}

/** The API key of a named environment. */
export function readPlaceKey(env: Environment, place: string): string | undefined {
  return readVariable(env, toKeyVariable(place));
}

/** The variable's value; an empty variable counts as unset. */
export function readVariable(env: Environment, name: string): string | undefined {
  return env[name] === "" ? undefined : env[name];
}
