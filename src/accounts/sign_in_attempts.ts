/** Sign-in towards the database: throttled before a password is hashed, settled after it. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import type { PasswordRecord } from "./passwords.ts";
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
  | { waitS: 0; known: KnownUser | undefined; isDisabled: boolean };
/** Who has the address that was typed; without a password there is nothing to check. */
export type KnownUser = {
  userId: string;
  password: Pick<PasswordRecord, "hash" | "secretId"> | undefined;
};

/** Counts an attempt, known address or not; then what is needed to check the password. */
export async function beginSignIn(deps: { db: Database }, from: AttemptFrom): Promise<Attempt> {
  const keys = toKeys(from);
  const [row] = await deps.db.query<{
    wait_s: number;
    user_id: string | null;
    password_hash: string | null;
    password_secret_id: string | null;
    is_disabled: boolean;
  }>(
    "select wait_s, user_id::text, password_hash, password_secret_id, is_disabled from rowhouse.begin_sign_in($1, $2, $3, $4, $5, $6, $7)",
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
  const { user_id: userId, password_hash: hash, password_secret_id: secretId } = row;
  const password = hash === null || secretId === null ? undefined : { hash, secretId };
  const known = userId === null ? undefined : { userId, password };
  return { waitS: 0, known, isDisabled: row.is_disabled };
}

export type Finish = {
  userId: string;
  /** Shows that the service itself found the password right, by the hash that is stored now. */
  proof: string;
  /** A newer hash of the same password, where the parameters or the secret have changed. */
  fresh: PasswordRecord | undefined;
  /** Sessions that the browser presented: they end. */
  presented: string;
  session: NewSession;
  sessionMaxS: number;
  from: AttemptFrom;
};

/** Makes the session; false where the person was disabled, or got another password, meanwhile. */
export async function finishSignIn(deps: { db: Database }, finish: Finish): Promise<boolean> {
  const { session, fresh } = finish;
  const keys = toKeys(finish.from);
  const [row] = await deps.db.query<{ is_done: boolean }>(
    `select rowhouse.finish_sign_in($1, decode($2, 'hex'), $3, decode($4, 'hex'), $5, $6,
      $7, decode($8, 'hex'), decode($9, 'hex'), $10, $11, $12, $13) as is_done`,
    [
      finish.userId,
      finish.proof,
      fresh?.hash ?? null,
      fresh?.digest ?? null,
      fresh?.secretId ?? null,
      finish.presented,
      session.id,
      session.sessionDigest,
      session.identityDigest,
      session.secretId,
      finish.sessionMaxS,
      keys.address,
      keys.client,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.is_done === true;
}

/** Digests: people type passwords into the wrong field, and a table of counters is no place for them. */
function toKeys({ email, client }: AttemptFrom): { address: string; client: string } {
  return { address: `address ${toDigest(email)}`, client: `client ${toDigest(client)}` };
}
