/**
 * What people do with their own account from a browser: each is one call of a function that proves by both cookies who
 * asks for it.
 *
 * @module
 */
import { type Database, SIGNALS } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import type { PasswordRecord } from "./passwords.ts";
import { type SessionStart, toSessionValues } from "./session_start.ts";
import {
  callShown,
  readShown,
  type ShownCall,
  type ShownCookies,
  SignInTooOld,
} from "./shown_call.ts";
import { type AttemptFrom, toClient, toKnownDevice } from "./sign_in_attempts.ts";

type OwnDeps = { db: Database; sessionIdleS: number };
/** No live session is presented with both its cookies. */
export class NotSignedIn extends Problem {
  constructor() {
    super("unauthenticated");
  }
}

const REFUSALS = {
  [SIGNALS.notSignedIn]: () => new NotSignedIn(),
  [SIGNALS.signInTooOld]: () => new SignInTooOld(),
};

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
  /** Whether a second factor was put off for as long as is allowed. */
  isFactorOverdue: boolean;
  /** Of the apps on which there is a role. */
  appSlugs: string[];
  /** The one that asks first, then the latest seen; at most 100. */
  sessions: OwnSession[];
};

/** @throws {NotSignedIn} */
export async function readOwnAccount(deps: OwnDeps, shown: ShownCookies): Promise<OwnAccount> {
  return await readOwn<OwnAccount>(deps, shown, { name: "read_own_account" });
}

export const PICTURE_MAX_CHARS = 2048;

export type OwnProfile = { displayName: string | null; avatarUrl: string | null };

/** Changes the name and the address of the picture. @throws {NotSignedIn} */
export async function changeOwnProfile(
  deps: OwnDeps,
  shown: ShownCookies,
  { displayName, avatarUrl }: OwnProfile,
): Promise<void> {
  await callOwn(deps, shown, {
    name: "change_own_profile",
    values: [displayName, avatarUrl],
    retry: "unsafe",
  });
}

/** Ends another session, or without an id all others; returns how many. @throws {NotSignedIn} */
export async function endOwnSessions(
  deps: OwnDeps,
  shown: ShownCookies,
  sessionId: string | undefined,
): Promise<number> {
  const [row] = await callOwn<{ result: number }>(deps, shown, {
    name: "end_own_sessions",
    values: [sessionId ?? null],
    retry: "unsafe",
  });
  return row?.result ?? 0;
}

/** The session is in place of all that there are. */
export type PasswordChange = Omit<SessionStart, "presented"> & {
  /** Shows that the service itself found the current password right, by the stored hash. */
  proof: string;
  password: PasswordRecord;
  attempt: AttemptFrom;
};

/** Sets another password; false if the present one was changed meanwhile. @throws {NotSignedIn} */
export async function changeOwnPassword(
  deps: OwnDeps,
  shown: ShownCookies,
  change: PasswordChange,
): Promise<boolean> {
  const { password, attempt, isKnownDevice } = change;
  const [row] = await callOwn<{ result: boolean }>(deps, shown, {
    name: "change_own_password",
    passed: `decode($5, 'hex'), $6, decode($7, 'hex'), $8, $9, decode($10, 'hex'), decode($11, 'hex'), $12, $13,
      string_to_array($14, ','), $15, $16`,
    values: [
      change.proof,
      password.hash,
      password.digest,
      password.secretId,
      ...toSessionValues(change),
      toClient(attempt.address).networks.join(","),
      toKnownDevice({ isKnownDevice, from: attempt }),
      change.deviceName,
    ],
    retry: "unsafe",
  });
  return row?.result === true;
}

/** @throws {NotSignedIn} */
export async function callOwn<Row>(
  deps: OwnDeps,
  cookies: ShownCookies,
  call: ShownCall,
): Promise<Row[]> {
  return await callShown<Row>({ ...deps, refusals: REFUSALS }, cookies, call);
}

/** What a function shows as JSON. @throws {NotSignedIn} */
export async function readOwn<Content>(
  deps: OwnDeps,
  cookies: ShownCookies,
  call: Omit<ShownCall, "retry">,
): Promise<Content> {
  return await readShown<Content>({ ...deps, refusals: REFUSALS }, cookies, call);
}
