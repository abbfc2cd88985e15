/**
 * What happens to a key after it was issued: rolled to a copy, and listed. Never shows a secret, except the new one after a
 * roll, once.
 *
 * @module
 */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import { SCOPES, type Scope } from "../principal.ts";
import { Problem } from "../problem.ts";
import { DAY_S, HOUR_S } from "../std/duration.ts";
import { quote } from "../std/quote.ts";
import { OPERATOR } from "./audit.ts";
import { toProof, toProofDigest } from "./key_proof.ts";
import { makeKeyText } from "./key_text.ts";
import { type IssueDeps, unknownApp } from "./keys.ts";
import { toUtcText } from "./utc_text.ts";

/** How long a rolled key keeps working beside its copy, in seconds. */
export const GRACES = { "0": 0, "1h": HOUR_S, "24h": DAY_S, "7d": 7 * DAY_S } as const;
export type Grace = keyof typeof GRACES;

export type RolledKey = {
  keyId: string;
  text: string;
  /** When the copy expires; `undefined` if the old key never did. */
  expiresAt: Date | undefined;
  /** When the old key stops working. */
  oldExpiresAt: Date;
};

/**
 * A copy of an active key, with its name, scopes and the lifetime that the old one was given; the old one expires at the end
 * of the grace period, never later than it would have. One statement: both, or nothing.
 *
 * @throws {Problem} not_found — no active key has this id
 */
export async function rollKey(deps: IssueDeps, keyId: string, grace: Grace): Promise<RolledKey> {
  const copy = makeKeyText(deps.keyPrefix, deps.randomBytes);
  const [row] = await deps.admin.query<{ expires_at: string | null; old_expires_at: string }>(
    `select extract(epoch from new_expires_at)::text as expires_at, extract(epoch from old_expires_at)::text as old_expires_at
    from rowhouse.roll_key($1, $2, decode($3, 'hex'), $4, $5)`,
    [keyId, copy.keyId, toProofDigest(toProof(copy.secret)), GRACES[grace], OPERATOR],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) {
    throw new Problem("not_found", {
      message: `Cannot roll key ${quote(keyId)}: no active key has this id`,
    });
  }
  return {
    keyId: copy.keyId,
    text: copy.text,
    expiresAt: row.expires_at === null ? undefined : new Date(Number(row.expires_at) * 1000),
    oldExpiresAt: new Date(Number(row.old_expires_at) * 1000),
  };
}

export type ListedKey = {
  keyId: string;
  name: string;
  scopes: Scope[];
  /** What keeps it from working, the lasting reason first. */
  status: "active" | "disabled app" | "expired" | "revoked";
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
};

/**
 * The keys of an app, newest first; never their secrets.
 *
 * @throws {Problem} unknown_app
 */
export async function listKeys(deps: { admin: Database }, slug: string): Promise<ListedKey[]> {
  const [row] = await deps.admin.query<{ keys: string }>(
    `select coalesce((
      select json_agg(json_build_object(
        'keyId', key_id, 'name', name, 'scopes', scopes,
        'status', case when revoked_at is not null then 'revoked'
          when expires_at <= now() then 'expired'
          when apps.disabled_at is not null then 'disabled app' else 'active' end,
        'createdAt', ${toUtcText("api_keys.created_at")}, 'expiresAt', ${toUtcText("api_keys.expires_at")},
        'revokedAt', ${toUtcText("api_keys.revoked_at")}, 'lastUsedAt', ${toUtcText("api_keys.last_used_at")}
      ) order by created_at desc, key_id)
      from rowhouse.api_keys where app_id = apps.id), '[]')::text as keys
    from rowhouse.apps where slug = $1`,
    [slug],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw unknownApp(slug);
  const keys = JSON.parse(row.keys) as ListedKey[];
  return keys.map((key) => ({
    ...key,
    scopes: SCOPES.filter((scope) => key.scopes.includes(scope)),
  }));
}
