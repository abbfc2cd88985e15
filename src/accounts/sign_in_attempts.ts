/** Sign-in towards the database: throttled before a password is hashed, settled after it. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import { type PrefixLength, toClientNetwork } from "../std/client_network.ts";
import type { Device } from "./device_text.ts";
import type { PasswordRecord } from "./passwords.ts";
import { toDigest } from "./secret_text.ts";
import type { NewSession } from "./session_text.ts";

/**
 * How many attempts in a window, and how long it is: for a typed address by one client, by one client for any, by the
 * networks that an IPv6 client is part of, and for an address by all clients (the function's own, ten times the pair's).
 * A device on which the person signed in before has as many as a pair, by itself. The bound of all together slows down
 * strangers.
 */
export const SIGN_IN_LIMITS = {
  pair: 10,
  address: 100,
  client: 60,
  clientOf56: 120,
  clientOf48: 240,
  globalPerMinute: 600,
  windowS: 900,
} as const;

/** The networks that count as one client, the narrowest first, and their bounds. */
const CLIENTS: readonly (readonly [PrefixLength, number])[] = [
  [64, SIGN_IN_LIMITS.client],
  [56, SIGN_IN_LIMITS.clientOf56],
  [48, SIGN_IN_LIMITS.clientOf48],
];

export type AttemptFrom = {
  /** The address that was typed. */
  email: string;
  /** The IP address that it came from. */
  address: string;
  /** Where it came from a device on which somebody signed in before. */
  device: Device | undefined;
};
export type Attempt =
  | { waitS: number }
  | {
      waitS: 0;
      known: KnownUser | undefined;
      isDisabled: boolean;
      /** Whether this very person signed in on this device before. */
      isKnownDevice: boolean;
    };
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
    is_known_device: boolean;
  }>(
    `select wait_s, user_id::text, password_hash, password_secret_id, is_disabled, is_known_device
    from rowhouse.begin_sign_in($1, $2, string_to_array($3, ','), $4, string_to_array($5, ',')::uuid[],
      $6, string_to_array($7, ',')::int4[], $8, $9)`,
    [
      from.email,
      keys.address,
      keys.clients.join(","),
      keys.device,
      (from.device?.userIds ?? []).join(","),
      SIGN_IN_LIMITS.pair,
      keys.clientBounds.join(","),
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
  const { is_disabled: isDisabled, is_known_device: isKnownDevice } = row;
  return { waitS: 0, known, isDisabled, isKnownDevice };
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
  isKnownDevice: boolean;
};

/** Makes the session; false where the person was disabled, or got another password, meanwhile. */
export async function finishSignIn(deps: { db: Database }, finish: Finish): Promise<boolean> {
  const { session, fresh } = finish;
  const keys = toKeys(finish.from);
  const [row] = await deps.db.query<{ is_done: boolean }>(
    `select rowhouse.finish_sign_in($1, decode($2, 'hex'), $3, decode($4, 'hex'), $5, $6,
      $7, decode($8, 'hex'), decode($9, 'hex'), $10, $11, $12, string_to_array($13, ','), $14) as is_done`,
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
      keys.clients.join(","),
      finish.isKnownDevice ? keys.device : null,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.is_done === true;
}

type Keys = { address: string; clients: string[]; clientBounds: number[]; device: string };

/** Digests: people type passwords into the wrong field, and a table of counters is no place for them. */
function toKeys({ email, address, device }: AttemptFrom): Keys {
  const networks = CLIENTS.map(([prefixLength, bound]) => ({
    network: toClientNetwork(address, prefixLength),
    bound,
  }));
  // An IPv4 address is the same by each of them, and counts once.
  const clients = networks.filter(
    ({ network }, at) => at === 0 || network !== networks[0]?.network,
  );
  return {
    address: `address ${toDigest(email)}`,
    clients: clients.map(({ network }) => `client ${toDigest(network)}`),
    clientBounds: clients.map(({ bound }) => bound),
    device: `device ${toDigest(`${device?.id ?? ""} ${email}`)}`,
  };
}

/** What one step deletes at the most. */
const SWEEP_STEP = 1000;

/** Deletes some of the counters whose time is over; whether there may be more of them. */
export async function sweepThrottle(deps: { db: Database }): Promise<boolean> {
  const [row] = await deps.db.query<{ swept: number }>(
    "select rowhouse.sweep_throttle($1) as swept",
    [SWEEP_STEP],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return (row?.swept ?? 0) >= SWEEP_STEP;
}
