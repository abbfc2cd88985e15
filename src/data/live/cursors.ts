/**
 * The cursors of event streams. A position is a snapshot of the database, which counts the writes of all apps and names the
 * cluster. So a cursor is encrypted, for one app and table, and padded, because the length of a snapshot counts transactions.
 *
 * @see ../../db/code/apps/live.sql
 * @module
 */

import { call, type Database } from "../../db/mod.ts";
import { IV_BYTES, sealText, unsealText } from "../../std/seal.ts";

export type CursorOwner = { app: string; table: string };

export type Cursors = {
  readonly seal: (owner: CursorOwner, position: string) => Promise<string>;
  /** The position of a cursor; `undefined` if it is not a cursor of this table. */
  readonly open: (owner: CursorOwner, cursor: string) => Promise<string | undefined>;
};

type Secret = { feed: string; secret: string };

const PADDED_TO = 128;

/** The secret is read once, and again when positions have another feed, such as after a restore. */
export function makeCursors({ db }: { db: Database }): Cursors {
  let secret: Secret | undefined;
  const readSecret = async (): Promise<Secret> => {
    secret = (await call(db, "cursor_secret", {})) as Secret;
    return secret;
  };
  return {
    seal: async ({ app, table }, position) => {
      const isCurrent = secret !== undefined && position.startsWith(`${secret.feed}.`);
      const found = isCurrent && secret ? secret : await readSecret();
      return sealCursor(toKey(found, app), table, position);
    },
    open: async ({ app, table }, cursor) => {
      const key = toKey(secret ?? (await readSecret()), app);
      const bytes = Buffer.from(cursor, "base64url");
      return unsealText({ key, owner: table }, bytes)?.trimEnd();
    },
  };
}

/** As `rowhouse.cursor_key()`. */
function toKey({ secret }: Secret, app: string): Uint8Array {
  const id = Buffer.from(app.replaceAll("-", ""), "hex");
  return new Bun.CryptoHasher("sha256").update(Buffer.from(secret, "hex")).update(id).digest();
}

/** The cursor of a position, with the key of its app. */
export function sealCursor(key: Uint8Array, table: string, position: string): string {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const padded = position.padEnd(Math.ceil(position.length / PADDED_TO) * PADDED_TO);
  return sealText({ key, owner: table }, padded, iv).toString("base64url");
}

/**
 * Whether a position certainly shows nothing that another position does not: then events from it are outdated. Snapshots of a
 * database are nested, so the number of visible transactions compares them.
 */
export function isIncluded(position: string, other: string): boolean {
  const [feed, snapshot = "", set] = position.split(".");
  const [otherFeed, otherSnapshot = "", otherSet] = other.split(".");
  return (
    feed === otherFeed && set === otherSet && countVisible(snapshot) <= countVisible(otherSnapshot)
  );
}

/** The transactions that are visible in a snapshot `xmin:xmax:running`. */
function countVisible(snapshot: string): number {
  const [, next = "", running = ""] = snapshot.split(":");
  return Number(next) - (running === "" ? 0 : running.split(",").length);
}
