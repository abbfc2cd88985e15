/**
 * What people do with their own account from a browser: each is one call of a function that proves by both cookies who
 * asks for it.
 *
 * @module
 */
import { type Database, readSqlState, SERVICE_QUEUE, SIGNALS, SignalError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import type { PasswordRecord } from "./passwords.ts";
import type { NewSession } from "./session_text.ts";
import type { PageCookies } from "./sessions.ts";
import { type AttemptFrom, toKeys } from "./sign_in_attempts.ts";

type OwnDeps = { db: Database; sessionIdleS: number };
/** What a browser shows, and from where: for the audit log. */
export type ShownByVisitor = PageCookies & { from: string };

/** No live session is presented with both its cookies. */
export class NotSignedIn extends Problem {
  constructor() {
    super("unauthenticated");
  }
}

export type OwnSession = {
  id: string;
  /** Whether it is the session that asks. */
  isOwn: boolean;
  device: string | null;
  address: string | null;
  signedInAt: string;
  lastSeenAt: string;
};
export type OwnAccount = {
  id: string;
  email: string;
  displayName: string | null;
  avatarUrl: string | null;
  isAdministrator: boolean;
  hasPassword: boolean;
  /** Of the apps on which there is a role. */
  appSlugs: string[];
  /** The one that asks first, then the latest seen; at most 100. */
  sessions: OwnSession[];
};

/** @throws {NotSignedIn} */
export async function readOwnAccount(deps: OwnDeps, shown: ShownByVisitor): Promise<OwnAccount> {
  const [row] = await callOwn<{ account: string }>(deps, shown, {
    text: "select rowhouse.read_own_account($1, $2, $3, $4)::text as account",
    retry: "safe",
  });
  if (row === undefined) throw new Error("The account gave no row");
  return JSON.parse(row.account) as OwnAccount;
}

export const NAME_MAX_CHARS = 200;
export const PICTURE_MAX_CHARS = 2048;

export type OwnProfile = { displayName: string | null; avatarUrl: string | null };

/** Changes the name and the address of the picture. @throws {NotSignedIn} */
export async function changeOwnProfile(
  deps: OwnDeps,
  shown: ShownByVisitor,
  { displayName, avatarUrl }: OwnProfile,
): Promise<void> {
  await callOwn(deps, shown, {
    text: "select rowhouse.change_own_profile($1, $2, $3, $4, $5, $6)",
    values: [displayName, avatarUrl],
    retry: "unsafe",
  });
}

/** Ends another session, or without an id all others; returns how many. @throws {NotSignedIn} */
export async function endOwnSessions(
  deps: OwnDeps,
  shown: ShownByVisitor,
  sessionId: string | undefined,
): Promise<number> {
  const [row] = await callOwn<{ ended: number }>(deps, shown, {
    text: "select rowhouse.end_own_sessions($1, $2, $3, $4, $5) as ended",
    values: [sessionId ?? null],
    retry: "unsafe",
  });
  return row?.ended ?? 0;
}

export type PasswordChange = {
  /** Shows that the service itself found the current password right, by the stored hash. */
  proof: string;
  password: PasswordRecord;
  /** In place of all that there are. */
  session: NewSession;
  sessionMaxS: number;
  attempt: AttemptFrom;
  isKnownDevice: boolean;
  deviceName: string;
};

/** Sets another password; false if the present one was changed meanwhile. @throws {NotSignedIn} */
export async function changeOwnPassword(
  deps: OwnDeps,
  shown: ShownByVisitor,
  change: PasswordChange,
): Promise<boolean> {
  const { password, session } = change;
  const keys = toKeys(change.attempt);
  const [row] = await callOwn<{ is_done: boolean }>(deps, shown, {
    text: `select rowhouse.change_own_password($1, $2, $3, $4, decode($5, 'hex'), $6, decode($7, 'hex'), $8, $9,
      decode($10, 'hex'), decode($11, 'hex'), $12, $13, $14, string_to_array($15, ','), $16, $17) as is_done`,
    values: [
      change.proof,
      password.hash,
      password.digest,
      password.secretId,
      session.id,
      session.sessionDigest,
      session.identityDigest,
      session.secretId,
      change.sessionMaxS,
      keys.address,
      keys.clients.join(","),
      change.isKnownDevice ? keys.device : null,
      change.deviceName,
    ],
    retry: "unsafe",
  });
  return row?.is_done === true;
}

type OwnCall = {
  /** With the cookies, the idle limit and the client's address as `$1` to `$4`. */
  text: string;
  values?: readonly (string | number | null)[];
  retry: "safe" | "unsafe";
};

export async function callOwn<Row>(
  { db, sessionIdleS }: OwnDeps,
  { session, identity, from }: ShownByVisitor,
  { text, values = [], retry }: OwnCall,
): Promise<Row[]> {
  try {
    return await db.query<Row>(text, [session, identity, sessionIdleS, from, ...values], {
      retry,
      queue: SERVICE_QUEUE,
    });
  } catch (error) {
    const state = error instanceof SignalError ? error.signal : readSqlState(error);
    throw state === SIGNALS.notSignedIn ? new NotSignedIn() : error;
  }
}
