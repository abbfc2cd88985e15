/**
 * The `.env` files that Bun has read, compared with the environment: Bun replaces `$name` by a variable, or by nothing, in every
 * kind of quotes. Returns names only: a value can be a secret.
 *
 * @module
 */
import { join } from "node:path";
import { readIfThere } from "../std/files.ts";
import { ENVIRONMENT_KEY, type Environment } from "./environment.ts";
import { isProviderSetting } from "./providers.ts";
import { SETTINGS } from "./settings.ts";

/** The files that Bun can read, the last with precedence. */
const FILES = [".env", ".env.production", ".env.development", ".env.test", ".env.local"];

const LINE = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*[=:][ \t]*["'`]?(.*)$/gm;
/** A reference without a default; `\$` is a plain `$`. */
const REFERENCE = /(?<!\\)\$(?:\{([A-Za-z0-9_]+)\}|([A-Za-z0-9_]+))/g;

type LostText = { variable: string; file: string };

/** The settings whose text in a file has `$name` of a variable that does not exist, so that Bun dropped that part. */
export function findLostText(folder: string, env: Environment): LostText[] {
  return FILES.flatMap((file) =>
    [...(readIfThere(join(folder, file)) ?? "").matchAll(LINE)].flatMap(
      ([, variable = "", text = ""]) =>
        isOurs(variable) && hasLost(text, env[variable], env) ? [{ variable, file }] : [],
    ),
  );
}

function isOurs(name: string): boolean {
  return name in SETTINGS || ENVIRONMENT_KEY.test(name) || isProviderSetting(name);
}

/** A value that starts otherwise is from elsewhere: from another file, or from the process's own environment. */
function hasLost(text: string, value: string | undefined, env: Environment): boolean {
  return [...text.matchAll(REFERENCE)].some(({ 0: whole, 1: braced, 2: plain, index }) => {
    if (env[braced ?? plain ?? ""]) return false;
    const before = expand(text.slice(0, index), env);
    return value?.startsWith(before) === true && !value.startsWith(before + whole);
  });
}

function expand(text: string, env: Environment): string {
  const toValue = (_: string, braced?: string, plain?: string) => env[braced ?? plain ?? ""] ?? "";
  return text.replace(REFERENCE, toValue).replaceAll("\\$", "$");
}
