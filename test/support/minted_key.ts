/** Keys of people and of the Console that outlast a test or a bench, written by the administrator: the service issues keys of minutes. @module */
import type { Database } from "../../src/db/mod.ts";
import { PERSON_BIT, SCOPE_BITS } from "../../src/principal.ts";
import { makeKeyText, toProof, toProofDigest } from "../../src/records/apps/key_text.ts";

const CONSOLE_BITS = SCOPE_BITS["data:read"] | SCOPE_BITS["data:write"];

/** Writes a session, a key and its proof, as the exchange of cookies does. Creates the person if needed. Without a role, it is a key of the Console. */
export async function mintPersonKey(
  admin: Database,
  { app, person, role }: { app: string; person: string; role: string | undefined },
): Promise<string> {
  const key = makeKeyText("rh", (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));
  const digest = `decode('${toProofDigest(toProof(key.secret))}', 'hex')`;
  const until = "now() + interval '1 day'";
  const page = role === undefined ? "null, null" : `'${role}', 'https://minted.example.org'`;
  const bits = role === undefined ? CONSOLE_BITS : PERSON_BIT;
  const proven = role === undefined ? "" : `, '${person}', '${role}'`;
  await admin.message(`
    insert into rowhouse.users (id, email) values ('${person}', '${person}@example.org')
      on conflict do nothing;
    insert into rowhouse.sessions
      (id, session_digest, identity_digest, secret_id, user_id, expires_at)
      values ('${key.keyId}', sha256('${key.keyId}'), sha256('${key.keyId}'), 'minted', '${person}', ${until});
    insert into rowhouse.person_keys
      (key_id, app_id, session_id, person_id, role, origin, scopes, digest, expires_at)
      values ('${key.keyId}', '${app}', '${key.keyId}', '${person}', ${page},
        '{data:read,data:write}', ${digest}, ${until});
    select rowhouse.enter_app('${app}');
    select rowhouse.put_proof('${app}', ${digest}, ${bits}::int2, ${until}${proven})`);
  return key.text;
}
