/** API keys: issued, found by id, revoked. Stores a digest of the secret's proof, never the secret. @module */

import { call, type Database, type Result } from "../../db/mod.ts";
import { type Person, SCOPES, type Scope } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import { DAY_S, HOUR_S } from "../../std/duration.ts";
import { quote } from "../../std/quote.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import { isStorableText } from "../../std/text.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { many, oneOf, orNull, text, time } from "../actions/columns.ts";
import { list, type RowsOf } from "../actions/list.ts";
import { unknownApp } from "../actions/rejections.ts";
import { makeKeyText, toProof, toProofDigest } from "./key_text.ts";

export type KeyRecord = {
  keyId: string;
  appId: string;
  scopes: Scope[];
  expiresAt: Date | undefined;
  /** Whether it is a Console key for rows. */
  isOfConsole: boolean;
  /** The person of a person's key. */
  person: Person | undefined;
};

type IssueOptions = {
  slug: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | undefined;
  /** Chosen in advance, so that a form that is sent twice creates one key. */
  keyId?: string;
};
type IssueDeps = Actor & { randomBytes: RandomBytes; keyPrefix: string };

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
    "use_caller_keys",
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

export async function useKey(deps: { db: Database }, use: KeyUse): Promise<UsedKey | undefined> {
  const [used] = (await useKeys(deps, [use])).values();
  return used;
}

function toRecord(key: Omit<Result<"use_caller_keys">[number], "ordinal" | "version">): KeyRecord {
  const { person_id: id, role } = key;
  return {
    keyId: key.key_id,
    appId: key.app_id,
    scopes: SCOPES.filter((scope) => key.scopes.includes(scope)),
    expiresAt: key.expires_at ?? undefined,
    isOfConsole: key.is_of_console,
    person: id === null || role === null ? undefined : { id, role },
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

// Rotates and lists issued keys. Never returns a secret, except the new secret of a rotation.

/** How long a rotated key works in addition to its replacement, in seconds. */
export const GRACES = { "0": 0, "1h": HOUR_S, "24h": DAY_S, "7d": 7 * DAY_S } as const;
export type Grace = keyof typeof GRACES;

type RolledKey = {
  keyId: string;
  text: string;
  /** When the new key expires; `undefined` if it does not expire. */
  expiresAt: Date | undefined;
  /** When the old key stops working. */
  oldExpiresAt: Date;
};

/**
 * Replaces an active key with a key that has its name, scopes and lifetime. The old key expires after the grace period, or at its
 * own expiry if that is earlier. One statement makes both changes.
 *
 * @throws {Problem} not_found — no active key has this id (in the Console: no active key of the app); invalid_request — a key
 *   with the new id exists
 */
export async function rollKey(
  deps: IssueDeps,
  keyId: string,
  grace: Grace,
  { slug, newKeyId }: { slug?: string; newKeyId?: string } = {},
): Promise<RolledKey> {
  const copy = makeKeyText(deps.keyPrefix, deps.randomBytes, newKeyId);
  const values = {
    app_slug: slug,
    old_key_id: keyId,
    new_key_id: copy.keyId,
    new_digest: toProofDigest(toProof(copy.secret)),
    grace_s: GRACES[grace],
  };
  const [row] = await runAction(deps, "roll_key", values);
  if (row === undefined) {
    throw new Problem("not_found", {
      message: `Cannot rotate key ${quote(keyId)}: no active key has this id; it does not exist, or is expired or revoked`,
    });
  }
  return {
    keyId: copy.keyId,
    text: copy.text,
    expiresAt: row.new_expires_at ?? undefined,
    oldExpiresAt: row.old_expires_at,
  };
}

/** The keys of an app, newest first; never their secrets. */
export const keyList = list({
  read: "list_keys",
  name: "keys",
  columns: {
    keyId: text({ title: "Key" }),
    status: oneOf(["active", "disabled app", "expired", "revoked"]),
    name: text({ title: "Name" }),
    scopes: many(oneOf(SCOPES), { title: "Scopes" }),
    createdAt: time({ label: false }),
    lastUsedAt: orNull(time({ title: "Last used", label: "used" })),
    expiresAt: orNull(time({ title: "Expires", label: "expires" })),
    revokedAt: orNull(time({ label: false })),
    /** The key that replaced it in a rotation. */
    replacedBy: orNull(text({ label: false })),
  },
  of: "app",
  sorts: ["keyId", "name", "lastUsedAt", "expiresAt"],
  ask: ({ of }) => ({ app_slug: of }),
});
export type ListedKey = RowsOf<typeof keyList>;
