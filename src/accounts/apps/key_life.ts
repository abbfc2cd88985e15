/** Rotates and lists issued keys. Never returns a secret, except the new secret of a rotation. @module */
import { SCOPES } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import { DAY_S, HOUR_S } from "../../std/duration.ts";
import { quote } from "../../std/quote.ts";
import { runAction } from "../actions/action.ts";
import { many, oneOf, orNull, text, time } from "../actions/columns.ts";
import { list, type RowsOf } from "../actions/list.ts";
import { makeKeyText, toProof, toProofDigest } from "./key_text.ts";
import type { IssueDeps } from "./keys.ts";

/** How long a rotated key works in addition to its replacement, in seconds. */
export const GRACES = { "0": 0, "1h": HOUR_S, "24h": DAY_S, "7d": 7 * DAY_S } as const;
export type Grace = keyof typeof GRACES;

export type RolledKey = {
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
      message: `Cannot rotate key ${quote(keyId)}: no active key has this id`,
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
  ask: ({ of }) => ({ app_slug: of }),
});
export type ListedKey = RowsOf<typeof keyList>;
