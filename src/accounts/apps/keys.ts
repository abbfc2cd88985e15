/** API keys: issued, found by id, revoked. Stores a digest of the secret's proof, never the secret. @module */
import { call, type Database, type Result } from "../../db/mod.ts";
import { SCOPES, type Scope } from "../../principal.ts";
import { isStorableText } from "../../std/is_storable_text.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { unknownApp } from "../actions/rejections.ts";
import { makeKeyText, toProof, toProofDigest } from "./key_text.ts";

export type KeyRecord = {
  keyId: string;
  appId: string;
  scopes: Scope[];
  expiresAt: Date | undefined;
  /** Whether it is a Console key for rows. */
  isOfConsole: boolean;
};

export type IssueOptions = {
  slug: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | undefined;
  /** Chosen in advance, so that a form that is sent twice creates one key. */
  keyId?: string;
};
export type IssueDeps = Actor & { randomBytes: RandomBytes; keyPrefix: string };

/**
 * A new key of an app: `text` is shown once and never stored.
 *
 * @throws {Problem} unknown_app; invalid_request — a key with this id exists
 */
export async function issueKey(
  deps: IssueDeps,
  options: IssueOptions,
): Promise<{ keyId: string; text: string }> {
  const key = makeKeyText(deps.keyPrefix, deps.randomBytes, options.keyId);
  const values = {
    app_slug: options.slug,
    new_key_id: key.keyId,
    key_name: options.name,
    new_digest: toProofDigest(toProof(key.secret)),
    key_scopes: options.scopes,
    key_expires_at: options.expiresAt,
  };
  if (!(await runAction(deps, "issue_key", values)))
    throw unknownApp(options.slug, { isInBrowser: "cookies" in deps });
  return { keyId: key.keyId, text: key.text };
}

/** The presented key: its id, and its proof in hexadecimal. */
export type KeyUse = { keyId: string; proof: string };
/** The record of a key, and the version of keys at which it was read. */
export type UsedKey = { record: KeyRecord; version: number };

/**
 * The records of unrevoked keys with a valid proof, by `<keyId> <proof>`. Records their use, at most once a minute. The caller
 * checks whether they have expired.
 */
export async function useKeys(
  deps: { db: Database },
  uses: readonly KeyUse[],
): Promise<Map<string, UsedKey>> {
  // In one order, so that processes that record the same keys never deadlock.
  const sorted = [...uses].sort((a, b) => (a.keyId < b.keyId ? -1 : 1));
  const rows = await call(
    deps.db,
    "use_keys",
    { wanted: sorted.map((use) => use.keyId), presented_proof: sorted.map((use) => use.proof) },
    // A flood of unknown keys fills only this queue.
    { queue: "keys" },
  );
  return new Map(
    rows.map(({ ordinal, version, ...key }) => {
      const use = sorted[ordinal - 1];
      return [`${use?.keyId} ${use?.proof}`, { record: toRecord(key), version }];
    }),
  );
}

/** The record of one key, as {@linkcode useKeys} reads it. */
export async function useKey(deps: { db: Database }, use: KeyUse): Promise<UsedKey | undefined> {
  const [used] = (await useKeys(deps, [use])).values();
  return used;
}

function toRecord(key: Omit<Result<"use_keys">[number], "ordinal" | "version">): KeyRecord {
  return {
    keyId: key.key_id,
    appId: key.app_id,
    scopes: SCOPES.filter((scope) => key.scopes.includes(scope)),
    expiresAt: key.expires_at ?? undefined,
    isOfConsole: key.is_of_console,
  };
}

/** Returns whether an unrevoked key existed. The Console passes the slug, and revokes only keys of that app. */
export async function revokeKey(actor: Actor, keyId: string, slug?: string): Promise<boolean> {
  return await runAction(actor, "revoke_key", { old_key_id: keyId, app_slug: slug });
}

/** The slug for the database. A text that the database cannot store becomes empty, which no app has. */
export function toAskedSlug(slug: string): string {
  return isStorableText(slug) ? slug : "";
}
