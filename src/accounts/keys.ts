/** API keys: issued, found by id, revoked. Stores SHA-256 of a secret, never the secret. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import { SCOPES, type Scope } from "../principal.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import type { RandomBytes } from "../std/random_text.ts";
import { OPERATOR } from "./audit.ts";
import { makeKeyText } from "./key_text.ts";
import { toDigest } from "./secret_text.ts";

export type KeyRecord = {
  keyId: string;
  appId: string;
  secretHash: Uint8Array;
  scopes: Scope[];
  expiresAt: Date | undefined;
  revokedAt: Date | undefined;
};

export type IssueOptions = {
  slug: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | undefined;
};
export type IssueDeps = { admin: Database; randomBytes: RandomBytes; keyPrefix: string };

/**
 * A new key of an app: `text` is shown once and stored nowhere.
 *
 * @throws {Problem} unknown_app
 */
export async function issueKey(
  deps: IssueDeps,
  options: IssueOptions,
): Promise<{ keyId: string; text: string }> {
  const key = makeKeyText(deps.keyPrefix, deps.randomBytes);
  const rows = await deps.admin.query<{ key_id: string }>(
    `with made as (
      insert into rowhouse.api_keys (key_id, app_id, name, secret_hash, scopes, expires_at)
      select $1, id, $3, decode($4, 'hex'), string_to_array($5, ','), $6::timestamptz
      from rowhouse.apps where slug = $2
      returning key_id, name, scopes, expires_at
    )
    insert into rowhouse.audit (actor, action, app, details)
    select $7, 'issue_key', $2, jsonb_build_object(
      'keyId', key_id, 'name', name, 'scopes', scopes, 'expiresAt', expires_at) from made
    returning details ->> 'keyId' as key_id`,
    [
      key.keyId,
      options.slug,
      options.name,
      toDigest(key.secret),
      options.scopes.join(","),
      options.expiresAt?.toISOString() ?? null,
      OPERATOR,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  if (rows.length === 0) throw unknownApp(options.slug);
  return { keyId: key.keyId, text: key.text };
}

/** What a caller shows of a key: its id, and SHA-256 of the secret in hexadecimal. */
export type KeyUse = { keyId: string; secretHash: string };
/** The record of a key and the version of keys that it holds for. */
export type UsedKey = { record: KeyRecord; version: number };

type KeyRow = {
  at: number;
  key_id: string;
  app_id: string;
  secret_hash: string;
  scopes: string;
  expires_at: string | null;
  revoked_at: string | null;
  version: number;
};

/**
 * The records of keys, by `<keyId> <secretHash>`; notes the use of those whose secret is right, at most once a
 * minute. Whether the secret is right is the caller's to check.
 */
export async function useKeys(
  deps: { db: Database },
  uses: readonly KeyUse[],
): Promise<Map<string, UsedKey>> {
  // In one order everywhere: processes that note the same keys at once wait for each other and never lock up.
  const sorted = [...uses].sort((a, b) => (a.keyId < b.keyId ? -1 : 1));
  const rows = await deps.db.query<KeyRow>(
    `select use.at::integer as at, key_id, app_id, encode(secret_hash, 'hex') as secret_hash,
      array_to_string(scopes, ',') as scopes, extract(epoch from expires_at)::text as expires_at,
      extract(epoch from revoked_at)::text as revoked_at,
      (select version::integer from rowhouse.versions where name = 'keys') as version
    from rows from (unnest(string_to_array($1, ',')), unnest(string_to_array($2, ','))) with ordinality
      as use (key, digest, at)
    cross join lateral rowhouse.use_key(use.key, decode(use.digest, 'hex'))
    where key_id is not null`,
    [sorted.map((use) => use.keyId).join(","), sorted.map((use) => use.secretHash).join(",")],
    // A queue of its own: a flood of unknown keys waits behind itself.
    { retry: "safe", queue: "keys" },
  );
  return new Map(
    rows.map((row) => {
      const use = sorted[row.at - 1];
      return [`${use?.keyId} ${use?.secretHash}`, { record: toRecord(row), version: row.version }];
    }),
  );
}

/** The record of one key, as {@linkcode useKeys} reads it. */
export async function useKey(deps: { db: Database }, use: KeyUse): Promise<UsedKey | undefined> {
  const [used] = (await useKeys(deps, [use])).values();
  return used;
}

function toRecord(row: KeyRow): KeyRecord {
  return {
    keyId: row.key_id,
    appId: row.app_id,
    secretHash: Buffer.from(row.secret_hash, "hex"),
    scopes: SCOPES.filter((scope) => row.scopes.split(",").includes(scope)),
    expiresAt: toDate(row.expires_at),
    revokedAt: toDate(row.revoked_at),
  };
}

/** Whether there was such a key that was not revoked before. */
export async function revokeKey(deps: { admin: Database }, keyId: string): Promise<boolean> {
  const rows = await deps.admin.query(
    `with ended as (
      update rowhouse.api_keys set revoked_at = now() where key_id = $1 and revoked_at is null
      returning key_id, app_id
    )
    insert into rowhouse.audit (actor, action, app, details)
    select $2, 'revoke_key', slug, jsonb_build_object('keyId', key_id)
    from ended join rowhouse.apps on apps.id = app_id
    returning id`,
    [keyId, OPERATOR],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return rows.length > 0;
}

export function unknownApp(slug: string): Problem {
  return new Problem("unknown_app", { message: `No app has the slug ${quote(slug)}` });
}

function toDate(epochSeconds: string | null): Date | undefined {
  return epochSeconds === null ? undefined : new Date(Number(epochSeconds) * 1000);
}
