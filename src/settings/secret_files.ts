/** Secrets in files, as Docker, Kubernetes and systemd provide them: `<NAME>_FILE` has the path. @module */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { ENVIRONMENT_KEY, type Environment, readVariable, toFileVariable } from "./environment.ts";
import type { Setting } from "./forms.ts";
import { isProviderSecret } from "./providers.ts";
import { SETTINGS } from "./settings.ts";

const MAX_BYTES = 65_536;
const SUFFIX = toFileVariable("");
const SECRETS: ReadonlySet<string> = new Set(
  Object.entries<Setting>(SETTINGS).flatMap(([name, { isSecret }]) => (isSecret ? [name] : [])),
);

type SecretFiles = {
  /** The environment with the content of the files, and without the variables that name them. */
  env: Environment;
  /** The variables whose file cannot be used. */
  rejected: Environment;
  /** An error for each of them. Never shows its value: it can be the secret itself. */
  issues: string[];
};

export function readSecretFiles(env: Environment): SecretFiles {
  const values: Record<string, string | undefined> = { ...env };
  const rejected: Record<string, string> = {};
  const issues: string[] = [];
  for (const variable of Object.keys(env)) {
    const name = variable.slice(0, -SUFFIX.length);
    if (!variable.endsWith(SUFFIX) || !isSecret(name)) continue;
    delete values[variable];
    const path = readVariable(env, variable);
    if (path === undefined) continue;
    const read =
      readVariable(env, name) === undefined
        ? readSecret(path)
        : { issue: `must not be set together with ${name}: remove one of them` };
    if ("issue" in read) {
      rejected[variable] = path;
      issues.push(`${variable} ${read.issue}`);
    } else values[name] = read.secret;
  }
  return { env: values, rejected, issues };
}

/** Without the errors of a secret whose file has an error: the secret is missing only for this reason. */
export function dropConsequences(issues: readonly string[]): string[] {
  const names = new Set(issues.map(readName));
  return issues.filter((issue) => !names.has(toFileVariable(readName(issue))));
}

function readName(issue: string): string {
  return issue.split(" ", 1)[0] ?? "";
}

function isSecret(name: string): boolean {
  return SECRETS.has(name) || ENVIRONMENT_KEY.test(name) || isProviderSecret(name);
}

function readSecret(path: string): { secret: string } | { issue: string } {
  const bytes = readStart(path);
  if (bytes === undefined)
    return { issue: "must be the path of a file that exists and that this process can read" };
  if (bytes.length > MAX_BYTES)
    return { issue: `must name a file of at most ${MAX_BYTES / 1024} KB` };
  const text = decode(bytes);
  if (text === undefined || text.includes("\0"))
    return { issue: "must name a text file in UTF-8, without NUL characters" };
  const secret = text.replace(/\r?\n$/, "");
  return secret === "" ? { issue: "must name a file that is not empty" } : { secret };
}

/** The file's bytes, at most one more than allowed; `undefined` if it cannot be read. */
function readStart(path: string): Uint8Array | undefined {
  try {
    // A pipe would block, and a restarted process could not read it again.
    if (!statSync(path).isFile()) return undefined;
    const file = openSync(path, "r");
    try {
      const bytes = new Uint8Array(MAX_BYTES + 1);
      return bytes.subarray(0, readSync(file, bytes));
    } finally {
      closeSync(file);
    }
  } catch {
    // Any failure means that the setting is invalid.
    return undefined;
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
