/** The database part of a sign-in: throttles before a password is hashed, and finishes after it. @module */

import { call, callRow, type Database } from "../../db/mod.ts";
import { type PrefixLength, toClientNetwork } from "../../std/client_network.ts";
import {
  SIGN_IN_WINDOW_S,
  SIGN_INS_A_MINUTE,
  SIGN_INS_OF_48,
  SIGN_INS_OF_56,
  SIGN_INS_OF_ADDRESS,
  SIGN_INS_OF_CLIENT,
  SIGN_INS_OF_PAIR,
  SWEEP_STEP,
} from "../../std/limits.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import type { PasswordLink } from "../people/password_links.ts";
import { type IdentitySecrets, toStoredDigest } from "../secrets/identity_secrets.ts";
import {
  makeIdText,
  makeSecret,
  type PasswordRecord,
  splitSecretText,
} from "../secrets/secrets.ts";
import type { Device } from "./devices.ts";
import { type SessionStart, toSessionValues } from "./sessions.ts";

// A sign-in that waits for the second factor: `<id>.<secret>` in a cookie of the pages' host. It is
// not a session, and opens only the page that requests the factor.

/** The arguments for the database, and the value of the cookie. */
export type NewPending = { id: string; digest: string; text: string };

export function makePending(
  deps: { identitySecrets: IdentitySecrets; randomBytes: RandomBytes },
  userId: string,
): NewPending {
  const parts = { id: makeIdText(deps.randomBytes), secret: makeSecret(deps.randomBytes) };
  const proof = deps.identitySecrets.current.prove("pending sign-in", parts.id, parts.secret);
  return {
    id: parts.id,
    digest: toStoredDigest(proof, userId),
    text: `${parts.id}.${parts.secret}`,
  };
}

/** The argument for the database: `<id>.<proof>` by each secret, comma-separated. */
export function toPendingCookieText({ all }: IdentitySecrets, text: string): string {
  const parts = splitSecretText(text);
  if (parts === undefined) return "";
  return all
    .map((by) => by.prove("pending sign-in", parts.id, parts.secret))
    .map((proof) => `${parts.id}.${Buffer.from(proof).toString("hex")}`)
    .join(",");
}

/** The person of a pending sign-in, and the factors that can finish it. */
export type PendingSignIn = {
  userId: string;
  email: string;
  hasTotp: boolean;
  /** Remaining codes. */
  recoveryCodes: number;
  passkeys: { id: string; transports: string[] }[];
};

export async function findPendingSignIn(
  { db }: { db: Database },
  presented: string,
): Promise<PendingSignIn | undefined> {
  if (presented === "") return undefined;
  const pending = await call(db, "show_pending_sign_in", { pending_cookie: presented });
  return (pending ?? undefined) as PendingSignIn | undefined;
}

/** Max attempts per window. */
export const SIGN_IN_LIMITS = {
  /** With an address from one client. A device on which the person has signed in before has its own limit of this size. */
  pair: SIGN_INS_OF_PAIR,
  /** With an address from all clients. */
  address: SIGN_INS_OF_ADDRESS,
  /** From a client, with any address. */
  client: SIGN_INS_OF_CLIENT,
  /** From the networks of an IPv6 client. */
  clientOf56: SIGN_INS_OF_56,
  clientOf48: SIGN_INS_OF_48,
  /** All attempts in a minute. Above this limit, unknown devices are slowed down. */
  globalPerMinute: SIGN_INS_A_MINUTE,
  windowS: SIGN_IN_WINDOW_S,
} as const;

/** The networks that count as one client, the narrowest first, and their limits. */
const CLIENTS: readonly (readonly [PrefixLength, number])[] = [
  [64, SIGN_IN_LIMITS.client],
  [56, SIGN_IN_LIMITS.clientOf56],
  [48, SIGN_IN_LIMITS.clientOf48],
];

export type AttemptFrom = {
  email: string;
  /** The client's IP address. */
  address: string;
  /** The device, if any person has signed in on it before. */
  device: Device | undefined;
};
type Attempt =
  | { waitS: number }
  | {
      waitS: 0;
      known: KnownUser | undefined;
      isDisabled: boolean;
      /** Whether this person has signed in on this device before. */
      isKnownDevice: boolean;
    };
/** The person with the entered address; without a password nothing is checked. */
export type KnownUser = {
  userId: string;
  password: Pick<PasswordRecord, "hash" | "secretId"> | undefined;
};

/** Counts an attempt for known and unknown addresses; returns the data to check the password. */
export async function beginSignIn(deps: { db: Database }, from: AttemptFrom): Promise<Attempt> {
  const { networks, bounds } = toClient(from.address);
  const row = await callRow(deps.db, "begin_sign_in", {
    email: from.email,
    client_networks: networks,
    device_id: from.device?.id,
    device_users: from.device?.userIds ?? [],
    client_address: from.address,
    max_pair: SIGN_IN_LIMITS.pair,
    max_clients: bounds,
    max_global: SIGN_IN_LIMITS.globalPerMinute,
    window_s: SIGN_IN_LIMITS.windowS,
  });
  if (row.wait_s > 0) return { waitS: row.wait_s };
  const { user_id: userId, password_hash: hash, password_secret_id: secretId } = row;
  const password = hash === null || secretId === null ? undefined : { hash, secretId };
  const known = userId === null ? undefined : { userId, password };
  const { is_disabled: isDisabled, is_known_device: isKnownDevice } = row;
  return { waitS: 0, known, isDisabled, isKnownDevice };
}

/** The people who must add a second factor; `default`: people with a Console role, as soon as any of them has one. */
export type FactorRule = "none" | "console" | "all" | "default";

/** `asked`: a session of a person who should add a second factor. `pending`: no session before the second factor. */
export type Admission = "done" | "asked" | "pending" | "wrong";

/** A session that can wait for a second factor. */
export type SignInStart = SessionStart & {
  /** Replaces the session if the person has a second factor. */
  pending: NewPending;
  factorRule: FactorRule;
};

/** The arguments of every SQL function that creates a session or a pending sign-in. */
export function toSignInValues({
  pending,
  factorRule,
  ...start
}: Omit<SignInStart, "isKnownDevice">) {
  return {
    ...toSessionValues(start),
    pending_id: pending.id,
    pending_digest: pending.digest,
    factor_rule: factorRule,
  };
}

type SignInFinish = SignInStart & {
  userId: string;
  /** Proves that the service checked the password against the stored hash. */
  proof: string;
  /** A newer hash of the same password, if the parameters or the secret have changed. */
  fresh: PasswordRecord | undefined;
  from: AttemptFrom;
};

/** Creates the session or the pending sign-in; `wrong` if the person was disabled or the password changed since. */
export async function finishSignIn(
  deps: { db: Database },
  finish: SignInFinish,
): Promise<Admission> {
  const { fresh } = finish;
  const outcome = await call(deps.db, "finish_sign_in", {
    who: finish.userId,
    presented_proof: finish.proof,
    fresh_hash: fresh?.hash,
    fresh_digest: fresh?.digest,
    fresh_secret_id: fresh?.secretId,
    ...toSignInValues(finish),
    client_networks: toClient(finish.from.address).networks,
    known_device: toKnownDevice(finish),
    client_address: finish.from.address,
  });
  return outcome as Admission;
}

/** The new password, and the browser's new session. */
type LinkSignIn = Omit<SignInStart, "isKnownDevice"> & {
  password: PasswordRecord;
  address: string;
  /** The name of an invited person who has none. */
  displayName: string | undefined;
};

/** Sets the password, uses up the link and signs the person in; `wrong` if the link is not valid. */
export async function signInByLink(
  deps: { db: Database },
  link: PasswordLink,
  { password, address, displayName, ...start }: LinkSignIn,
): Promise<Admission> {
  const outcome = await call(deps.db, "accept_by_link", {
    link_id: link.id,
    presented_proof: Buffer.from(link.proof).toString("hex"),
    fresh_hash: password.hash,
    fresh_digest: password.digest,
    fresh_secret_id: password.secretId,
    ...toSignInValues(start),
    client_address: address,
    new_name: displayName,
  });
  return outcome as Admission;
}

/** The id of the device, if this person has signed in on it before: its attempts have a separate limit. */
export function toKnownDevice({
  isKnownDevice,
  from,
}: {
  isKnownDevice: boolean;
  from: AttemptFrom;
}): string | null {
  return isKnownDevice ? (from.device?.id ?? null) : null;
}

/** The networks of a client, with the limit of each. The database derives the keys of counters from them. */
export function toClient(address: string): { networks: string[]; bounds: number[] } {
  const clients = CLIENTS.map(([prefixLength, bound]) => ({
    network: toClientNetwork(address, prefixLength),
    bound,
  }));
  // An IPv4 address is the same in each network, and counts once.
  const counted = clients.filter(({ network }, at) => at === 0 || network !== clients[0]?.network);
  return {
    networks: counted.map(({ network }) => network),
    bounds: counted.map(({ bound }) => bound),
  };
}

/** Deletes expired counters, one step at a time; returns whether more may remain. */
export async function sweepThrottle(deps: { db: Database }): Promise<boolean> {
  return (await call(deps.db, "sweep_throttle", { max_rows: SWEEP_STEP })) >= SWEEP_STEP;
}
