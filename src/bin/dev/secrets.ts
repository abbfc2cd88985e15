/** What `dev` generates once and keeps in the hidden folder, so that a command pasted yesterday still works today. @module */
import { join } from "node:path";
import * as v from "valibot";
import { makeSecret } from "../../accounts/secrets/mod.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { systemRandomBytes } from "../../std/random_text.ts";
import { tryParseJson } from "../../std/try_parse_json.ts";
import { RefusedError } from "../cli/command.ts";
import { HIDDEN_FOLDER } from "./file.ts";

const Person = v.object({ email: v.string(), password: v.string() });
const Secrets = v.object({
  loginPassword: v.string(),
  pushPassword: v.string(),
  /** Those of an older release had none. */
  consolePassword: v.optional(v.string()),
  identitySecret: v.string(),
  /** The slug of the app whose tables the database has. */
  app: v.optional(v.string()),
  apiKey: v.optional(v.string()),
  people: v.optional(v.object({ admin: Person, user: Person })),
});
export type Secrets = v.InferOutput<typeof Secrets> & { consolePassword: string };

const SECRETS_FILE = `${HIDDEN_FOLDER}/secrets.json`;

function toPath(folder: string): string {
  return join(folder, SECRETS_FILE);
}

/**
 * The stored ones, or new ones if nothing is stored.
 *
 * @throws {RefusedError} they cannot be read: no one can make them again, so that they are never replaced
 */
export function openSecrets(folder: string): Secrets {
  const text = readIfThere(toPath(folder));
  const kept = text === undefined ? undefined : readSecrets(text);
  const { consolePassword = makeSecret(systemRandomBytes) } = kept ?? {};
  if (kept?.consolePassword !== undefined) return { ...kept, consolePassword };
  const secrets = {
    loginPassword: makeSecret(systemRandomBytes),
    pushPassword: makeSecret(systemRandomBytes),
    identitySecret: makeSecret(systemRandomBytes),
    ...kept,
    consolePassword,
  };
  keepSecrets(folder, secrets);
  return secrets;
}

function readSecrets(text: string): v.InferOutput<typeof Secrets> {
  const kept = v.safeParse(Secrets, tryParseJson(text));
  if (kept.success) return kept.output;
  throw new RefusedError(
    `Cannot read ${SECRETS_FILE}: it is damaged. Restore it; or delete it, and every password and key of dev's database is lost: rowhouse dev then makes new ones`,
  );
}

/** Only their owner may read them. */
export function keepSecrets(folder: string, secrets: Secrets): void {
  writeAtomically(toPath(folder), `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
}
