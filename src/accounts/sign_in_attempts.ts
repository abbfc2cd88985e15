/** Sign-in and set-password links towards the database: throttled before, settled after a password was hashed. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import { toDigest } from "./secret_text.ts";
import type { NewSession } from "./session_text.ts";

/**
 * How many attempts in a window, and how long it is: for a typed address by one client, by one client for any, and for
 * an address by all clients (the function's own, ten times the pair's). The bound of all together slows down, it never
 * shuts out.
 */
export const SIGN_IN_LIMITS = {
  pair: 10,
  address: 100,
  client: 60,
  globalPerMinute: 600,
  windowS: 900,
} as const;

export type AttemptFrom = { email: string; client: string };
export type Attempt =
  | { waitS: number }
  | { waitS: 0; userId: string | undefined; passwordHash: string | undefined; isDisabled: boolean };

/** Counts an attempt, known address or not; then what is needed to check the password. */
export async function beginSignIn(deps: { db: Database }, from: AttemptFrom): Promise<Attempt> {
  const keys = toKeys(from);
  const [row] = await deps.db.query<{
    wait_s: number;
    user_id: string | null;
    password_hash: string | null;
    is_disabled: boolean;
  }>(
    "select wait_s, user_id, password_hash, is_disabled from rowhouse.begin_sign_in($1, $2, $3, $4, $5, $6, $7)",
    [
      from.email,
      keys.address,
      keys.client,
      SIGN_IN_LIMITS.pair,
      SIGN_IN_LIMITS.client,
      SIGN_IN_LIMITS.globalPerMinute,
      SIGN_IN_LIMITS.windowS,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw new Error("The sign-in function gave no row");
  if (row.wait_s > 0) return { waitS: row.wait_s };
  return {
    waitS: 0,
    userId: row.user_id ?? undefined,
    passwordHash: row.password_hash ?? undefined,
    isDisabled: row.is_disabled,
  };
}

export type Finish = {
  userId: string;
  /** The hash that the password was right for. */
  seenHash: string;
  /** A newer hash of the same password, where the parameters have changed. */
  freshHash: string | undefined;
  /** Sessions that the browser presented: they end. */
  presented: string;
  session: NewSession;
  sessionMaxS: number;
  from: AttemptFrom;
};

/** Makes the session; false where the person was disabled, or got another password, meanwhile. */
export async function finishSignIn(deps: { db: Database }, finish: Finish): Promise<boolean> {
  const { session } = finish;
  const keys = toKeys(finish.from);
  const [row] = await deps.db.query<{ is_done: boolean }>(
    "select rowhouse.finish_sign_in($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as is_done",
    [
      finish.userId,
      finish.seenHash,
      finish.freshHash ?? null,
      finish.presented,
      session.id,
      session.secretHash,
      session.identityHash,
      finish.sessionMaxS,
      keys.address,
      keys.client,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.is_done === true;
}

/** Whom a link is for, while it can be used; looking does not use it up. */
export async function findPasswordLink(
  deps: { db: Database },
  secret: string,
): Promise<{ email: string; displayName: string | undefined; appSlugs: string[] } | undefined> {
  const [row] = await deps.db.query<{ email: string; display_name: string | null; slugs: string }>(
    `select users.email, users.display_name, (select coalesce(json_agg(slug), '[]')::text
      from rowhouse.apps join rowhouse.grants on grants.app_id = apps.id where grants.user_id = users.id) as slugs
    from rowhouse.password_links join rowhouse.users on users.id = password_links.user_id
    where secret_hash = decode($1, 'hex') and expires_at > now() and disabled_at is null`,
    [toDigest(secret)],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) return undefined;
  return {
    email: row.email,
    displayName: row.display_name ?? undefined,
    appSlugs: JSON.parse(row.slugs) as string[],
  };
}

/** Sets the password and uses the link up; false where it cannot be used, or was a moment ago. */
export async function usePasswordLink(
  deps: { db: Database },
  secret: string,
  passwordHash: string,
): Promise<boolean> {
  const [row] = await deps.db.query<{ is_done: boolean }>(
    "select rowhouse.use_password_link($1, $2) as is_done",
    [toDigest(secret), passwordHash],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.is_done === true;
}

/** Digests: people type passwords into the wrong field, and a table of counters is no place for them. */
function toKeys({ email, client }: AttemptFrom): { address: string; client: string } {
  return { address: `address ${toDigest(email)}`, client: `client ${toDigest(client)}` };
}
