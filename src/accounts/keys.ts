/** API keys: issued, found by id, revoked. Stores a digest of the secret's proof, never the secret. @module */
import { type Database, SERVICE_QUEUE, SIGNALS, SignalError } from "../db/mod.ts";
import { SCOPES, type Scope } from "../principal.ts";
import { Problem } from "../problem.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { quote } from "../std/quote.ts";
import type { RandomBytes } from "../std/random_text.ts";
import { OPERATOR } from "./audit.ts";
import { toProof, toProofDigest } from "./key_proof.ts";
import { makeKeyText } from "./key_text.ts";

export type KeyRecord = {
  keyId: string;
  appId: string;
  scopes: Scope[];
  expiresAt: Date | undefined;
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
  const [row] = await deps.admin.query<{ is_done: boolean }>(
    `select rowhouse.issue_key($1, $2, $3, decode($4, 'hex'), string_to_array($5, ','), $6::timestamptz, $7) as is_done`,
    [
      options.slug,
      key.keyId,
      options.name,
      toProofDigest(toProof(key.secret)),
      options.scopes.join(","),
      options.expiresAt?.toISOString() ?? null,
      OPERATOR,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  if (row?.is_done !== true) throw unknownApp(options.slug);
  return { keyId: key.keyId, text: key.text };
}

/** What a caller presents: a key's id, and its proof in hexadecimal. */
export type KeyUse = { keyId: string; proof: string };
/** The record of a key, and the version of keys at which it was read. */
export type UsedKey = { record: KeyRecord; version: number };

type KeyRow = {
  at: number;
  key_id: string;
  app_id: string;
  scopes: string;
  expires_at: string | null;
  version: number;
};

/**
 * The records of keys that are not revoked and whose proof is right, by `<keyId> <proof>`; notes their use, at most once a
 * minute. The caller checks whether they have expired.
 */
export async function useKeys(
  deps: { db: Database },
  uses: readonly KeyUse[],
): Promise<Map<string, UsedKey>> {
  // In the same order everywhere: processes that note the same keys at once wait for each other and never deadlock.
  const sorted = [...uses].sort((a, b) => (a.keyId < b.keyId ? -1 : 1));
  const rows = await deps.db.query<KeyRow>(
    `select use.at::integer as at, key_id, app_id, array_to_string(scopes, ',') as scopes,
      extract(epoch from expires_at)::text as expires_at,
      (select version::integer from rowhouse.versions where name = 'keys') as version
    from rows from (unnest(string_to_array($1, ',')), unnest(string_to_array($2, ','))) with ordinality
      as use (key, proof, at)
    cross join lateral rowhouse.use_key(use.key, decode(use.proof, 'hex'))`,
    [sorted.map((use) => use.keyId).join(","), sorted.map((use) => use.proof).join(",")],
    // A queue of its own: a flood of unknown keys waits behind itself.
    { retry: "safe", queue: "keys" },
  );
  return new Map(
    rows.map((row) => {
      const use = sorted[row.at - 1];
      return [`${use?.keyId} ${use?.proof}`, { record: toRecord(row), version: row.version }];
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
    scopes: SCOPES.filter((scope) => row.scopes.split(",").includes(scope)),
    expiresAt: toDate(row.expires_at),
  };
}

/** Whether there was such a key, not revoked before. */
export async function revokeKey(deps: { admin: Database }, keyId: string): Promise<boolean> {
  const [row] = await deps.admin.query<{ is_done: boolean }>(
    "select rowhouse.revoke_key($1, $2) as is_done",
    [keyId, OPERATOR],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.is_done === true;
}

/** The refusal where no app has this slug. */
export function unknownApp(slug: string): Problem {
  return new Problem("unknown_app", {
    message: `No app has the slug ${quote(slug)}: rowhouse admin list-apps lists those there are`,
  });
}

/** A slug as the database can be asked for it: what it cannot read is nobody's. */
export function toAskedSlug(slug: string): string {
  return isStorableText(slug) ? slug : "";
}

/** What to throw for an error of a function that raises where there is no such app. */
export function refuseUnknownApp(error: unknown, slug: string): unknown {
  const isUnknown = error instanceof SignalError && error.signal === SIGNALS.unknownApp;
  return isUnknown ? unknownApp(slug) : error;
}

function toDate(epochSeconds: string | null): Date | undefined {
  return epochSeconds === null ? undefined : new Date(Number(epochSeconds) * 1000);
}
