/**
 * All that is stored of a person, for that person to have. Never what proves a session, a link or a password: whoever reads
 * the file must not be able to do anything with it.
 *
 * @module
 */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import { readEmail } from "./email.ts";
import { unknownUser } from "./users.ts";

/** Columns that nobody is shown, in any table. */
const HIDDEN =
  "'{password_hash,password_digest,password_secret_id,email_digest,email_secret_id,session_digest,identity_digest,digest,secret_id,sealed_secret,last_step,user_id,credential_id,public_key,sign_count}'::text[]";

/** Rows of a table that has the person's id, as they are stored. */
function rowsOf(table: string, order: string): string {
  return `(select coalesce(json_agg(to_jsonb(stored) - ${HIDDEN} order by ${order}), '[]')
    from rowhouse.${table} as stored where stored.user_id = users.id)`;
}

/** The columns as they are named in the database; by table. */
export type UserExport = {
  user: Record<string, unknown>;
  grants: Record<string, unknown>[];
  sessions: Record<string, unknown>[];
  /** One, until it is accepted. */
  invitations: Record<string, unknown>[];
  passwordLinks: Record<string, unknown>[];
  providerLinks: Record<string, unknown>[];
  /** That there is an authenticator app, and since when. */
  totpFactors: Record<string, unknown>[];
  recoveryCodes: Record<string, unknown>[];
  /** What they are called and when they were used, without what verifies them. */
  passkeys: Record<string, unknown>[];
  /** Sign-ins that wait for the second factor. */
  pendingSignIns: Record<string, unknown>[];
  /** One, once a password was wrong since it was last right. */
  failedSignIns: Record<string, unknown>[];
  /** That wait, or were sent in the last hour. */
  mails: Record<string, unknown>[];
  /** What was done by this person, or to them. */
  audit: Record<string, unknown>[];
};

/** @throws {Problem} invalid_request — nobody has this address */
export async function exportUser(deps: { admin: Database }, text: string): Promise<UserExport> {
  const email = readEmail(text);
  const [row] = await deps.admin.query<{ stored: string }>(
    `select json_build_object(
      'user', to_jsonb(users) - ${HIDDEN} || jsonb_build_object('has_password', password_hash is not null),
      'grants', (select coalesce(json_agg(to_jsonb(stored) - ${HIDDEN} || jsonb_build_object('app', slug) order by slug), '[]')
        from rowhouse.grants as stored join rowhouse.apps on apps.id = app_id where stored.user_id = users.id),
      'sessions', ${rowsOf("sessions", "created_at")},
      'invitations', ${rowsOf("invitations", "invited_at")},
      'passwordLinks', ${rowsOf("password_links", "created_at")},
      'providerLinks', ${rowsOf("provider_links", "issuer, subject")},
      'totpFactors', ${rowsOf("totp_factors", "confirmed_at")},
      'recoveryCodes', ${rowsOf("recovery_codes", "created_at")},
      'passkeys', ${rowsOf("passkeys", "created_at")},
      'pendingSignIns', ${rowsOf("pending_sign_ins", "expires_at")},
      'failedSignIns', ${rowsOf("failed_sign_ins", "last_at")},
      'mails', ${rowsOf("mails", "id")},
      'audit', (select coalesce(json_agg(to_jsonb(audit) order by audit.id), '[]')
        from rowhouse.audit where audit.user_id = users.id or actor = users.id::text))::text as stored
    from rowhouse.users where email = $1`,
    [email],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw unknownUser(email);
  return JSON.parse(row.stored) as UserExport;
}
