/** Secrets that `dev` generates once and stores in the hidden folder, so that commands can be pasted again later. @module */
import { join } from "node:path";
import * as v from "valibot";
import { describeUnreadable, nameFormat } from "../../format.ts";
import { makeSecret } from "../../records/secrets/secrets.ts";
import { anyNames } from "../../std/any_names.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { tryParseJson } from "../../std/json.ts";
import { systemRandomBytes } from "../../std/random_text.ts";
import { RejectedError } from "../command.ts";
import { DevPeople, SECRETS_FILE } from "../dev_file.ts";

export const Secrets = v.object({
  loginPassword: v.string(),
  pushPassword: v.string(),
  /** Missing in files of older releases. */
  consolePassword: v.optional(v.string()),
  identitySecret: v.string(),
  /** The slug of the app whose tables the database has. */
  app: v.optional(v.string()),
  apiKey: v.optional(v.string()),
  /** The keys of the other projects' apps, by slug. */
  apps: v.optional(anyNames(v.string())),
  people: v.optional(DevPeople),
});
export type Secrets = v.InferOutput<typeof Secrets> & { consolePassword: string };

function toPath(folder: string): string {
  return join(folder, SECRETS_FILE);
}

/**
 * The stored secrets, or new ones if nothing is stored.
 *
 * @throws {RejectedError} they cannot be read; lost secrets cannot be recovered, so they are never replaced
 */
export function openSecrets(folder: string): Secrets {
  const text = readIfThere(toPath(folder));
  const stored = text === undefined ? undefined : readSecrets(text);
  const { consolePassword = makeSecret(systemRandomBytes) } = stored ?? {};
  if (stored?.consolePassword !== undefined) return { ...stored, consolePassword };
  const secrets = {
    loginPassword: makeSecret(systemRandomBytes),
    pushPassword: makeSecret(systemRandomBytes),
    identitySecret: makeSecret(systemRandomBytes),
    ...stored,
    consolePassword,
  };
  keepSecrets(folder, secrets);
  return secrets;
}

function readSecrets(text: string): v.InferOutput<typeof Secrets> {
  const content = tryParseJson(text);
  const unreadable = describeUnreadable("dev", content);
  if (unreadable !== undefined)
    throw new RejectedError(`Cannot use ${SECRETS_FILE}: it ${unreadable}`);
  const stored = v.safeParse(Secrets, content);
  if (stored.success) return stored.output;
  throw new RejectedError(
    `Cannot read ${SECRETS_FILE}: the file is damaged. Restore it, or delete it: rowhouse dev then creates new secrets, and all old passwords and keys of its database are lost`,
  );
}

/** The file is readable only by its owner. */
export function keepSecrets(folder: string, secrets: Secrets): void {
  const text = JSON.stringify({ ...nameFormat("dev"), ...secrets }, null, 2);
  writeAtomically(toPath(folder), `${text}\n`, { mode: 0o600 });
}
