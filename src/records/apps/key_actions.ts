/** The actions on a key: their pages and commands. @module */
import { say, sayQuietly } from "../../said.ts";
import { quote } from "../../std/quote.ts";
import { fixed, orNull, record, text, time } from "../actions/columns.ts";
import { actionOn } from "../actions/declaration.ts";
import { GRACE } from "./apps.ts";
import { type ListedKey, revokeKey, rollKey } from "./keys.ts";

export type KeySubject = {
  /** A page names the app of the key, and chooses the id of a new key. */
  ref: { keyId: string; slug?: string; newKeyId?: string };
  page: { keyId: string; key: ListedKey };
  named: { keyId: string };
};
const onKey = actionOn<KeySubject>();

const LIFE = "24h";

function nameKey({ keyId, key }: KeySubject["page"]) {
  return { name: key.name === "" ? keyId : key.name };
}

export const KEY_ACTIONS = {
  revoke: onKey({
    name: "revoke_key",
    run: async (deps, { keyId, slug }) => await revokeKey(deps, keyId, slug),
    says: {
      title: "Revoke a key",
      effect: (page) => [
        say`The key ${nameKey(page)} stops working immediately. This cannot be undone.`,
        sayQuietly`Last used: ${{ at: page.key.lastUsedAt }}. To replace it without downtime, rotate it instead.`,
      ],
      button: "Revoke the key",
      done: { "key-revoked": "Key revoked. It stopped working." },
      line: ({ keyId }) => `Revoked key ${keyId}`,
      none: ({ keyId }) =>
        `No active key has the id ${quote(keyId)}: it does not exist or is already revoked; rowhouse admin list-keys <app> lists the keys`,
    },
    page: { path: "revoke", tone: "danger" },
    command: "revoke-key",
    summary: "revokes an API key in all processes",
    about: "The key's id is the part between the first _ and the dot.",
    json: { revoked: fixed(true) },
  }),
  roll: onKey({
    name: "roll_key",
    inputs: { grace: { ...GRACE, default: LIFE } },
    run: async (deps, { keyId: old, ...ref }, { grace }) => {
      const { keyId, text: key, expiresAt, oldExpiresAt } = await rollKey(deps, old, grace, ref);
      const ends = expiresAt?.toISOString() ?? null;
      return {
        keyId,
        key,
        expiresAt: ends,
        old: { keyId: old, expiresAt: oldExpiresAt.toISOString() },
      };
    },
    says: {
      title: "Rotate a key",
      effect: (page) =>
        say`This creates a key with the name, scopes and lifetime of ${nameKey(page)}, and shows it once. Replace the old key everywhere before it expires.`,
      button: "Rotate the key",
      line: ({ key }) => key,
      note: ({ old }) => `The old key works until ${old.expiresAt}`,
    },
    page: { path: "roll" },
    command: "roll-key",
    summary:
      "replaces an API key: prints the new key once; the old key expires after a grace period",
    example: `rowhouse admin roll-key k3x9q0m2w8z5t1ab
rowhouse admin roll-key k3x9q0m2w8z5t1ab --grace 0`,
    about: `The new key has the name, scopes and lifetime of the old key. The old key works until the grace period
ends (${LIFE} by default) or until it expires, if that is earlier.`,
    json: {
      key: text(),
      expiresAt: orNull(time()),
      old: record({ keyId: text(), expiresAt: time() }),
    },
  }),
};
