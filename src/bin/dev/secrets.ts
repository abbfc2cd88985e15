/** What `dev` generates once and keeps in the hidden folder, so that a command pasted yesterday still works today. @module */
import { join } from "node:path";
import * as v from "valibot";
import { makeSecret } from "../../accounts/mod.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { systemRandomBytes } from "../../std/random_text.ts";
import { tryParseJson } from "../../std/try_parse_json.ts";
import { HIDDEN_FOLDER } from "./file.ts";

const Person = v.object({ email: v.string(), password: v.string() });
const Secrets = v.object({
  loginPassword: v.string(),
  pushPassword: v.string(),
  identitySecret: v.string(),
  /** The slug of the app whose tables the database has. */
  app: v.optional(v.string()),
  apiKey: v.optional(v.string()),
  people: v.optional(v.object({ admin: Person, user: Person })),
});
export type Secrets = v.InferOutput<typeof Secrets>;

function toPath(folder: string): string {
  return join(folder, HIDDEN_FOLDER, "secrets.json");
}

/** The stored ones, or new ones if nothing readable is stored. */
export function openSecrets(folder: string): Secrets {
  const kept = v.safeParse(Secrets, tryParseJson(readIfThere(toPath(folder)) ?? ""));
  if (kept.success) return kept.output;
  const secrets = {
    loginPassword: makeSecret(systemRandomBytes),
    pushPassword: makeSecret(systemRandomBytes),
    identitySecret: makeSecret(systemRandomBytes),
  };
  keepSecrets(folder, secrets);
  return secrets;
}

/** Only their owner may read them. */
export function keepSecrets(folder: string, secrets: Secrets): void {
  writeAtomically(toPath(folder), `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
}
