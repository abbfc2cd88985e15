/** The database's part of the second step of a sign-in: counted before a factor is looked at, finished after it. @module */
import { call, type Database } from "../../db/mod.ts";
import { DAY_S } from "../../std/duration.ts";
import { toDigest } from "../secrets/secret_text.ts";
import type { Device } from "./device_text.ts";
import { type SessionStart, toSessionValues } from "./sessions.ts";
import { SIGN_IN_LIMITS, toClient } from "./sign_in_attempts.ts";
import type { TotpRecord } from "./totp.ts";

export type FactorKind = "totp" | "recovery" | "passkey";

/**
 * How many attempts are allowed with a kind of factor: in a window for a person by one client, or on a device on which that
 * person has shown a factor before; by all clients; and with codes of an app for as long as `lastingS`. Each attempt is right with
 * three codes in a million.
 */
export const FACTOR_LIMITS = { pair: 5, person: 15, lasting: 100, lastingS: 30 * DAY_S } as const;

/** Where an attempt comes from. */
export type FactorFrom = {
  /** The sign-in that waits, as the browser shows it. */
  shown: string;
  kind: FactorKind;
  /** The client's IP address. */
  address: string;
  /** Attempts on it are counted apart if the person has shown a second factor there. */
  device: Device | undefined;
};

export type FactorAttempt =
  | { waitS: number }
  | {
      waitS: 0;
      userId: string;
      isKnownDevice: boolean;
      /** What is stored of the authenticator app, and the time step of the code that was used last. */
      totp: (Pick<TotpRecord, "sealed" | "secretId"> & { lastStep: number }) | null;
      /** What verifies the passkeys of the person: the id and the key in hexadecimal. */
      passkeys: { id: string; publicKey: string; secretId: string }[] | null;
    };

/** Counts an attempt; `undefined` if no sign-in waits. */
export async function beginSecondFactor(
  { db }: { db: Database },
  from: FactorFrom,
): Promise<FactorAttempt | undefined> {
  const keys = toFactorKeys(from);
  const attempt = await call(db, "begin_second_factor", {
    pending_shown: from.shown,
    kind: from.kind,
    client_key: keys.client,
    device_key: keys.device,
    device_users: from.device?.factorUserIds ?? [],
    max_pair: FACTOR_LIMITS.pair,
    max_person: FACTOR_LIMITS.person,
    max_lasting: FACTOR_LIMITS.lasting,
    window_s: SIGN_IN_LIMITS.windowS,
    lasting_s: FACTOR_LIMITS.lastingS,
  });
  return (attempt ?? undefined) as FactorAttempt | undefined;
}

/** A factor that the service has found right. */
export type RightFactor = {
  /** Proofs of what is stored, one of which is its own; in hexadecimal, with commas between. */
  proofs: string;
  /** The id of a passkey, in hexadecimal. */
  key?: string;
  /** The time step of a code; what a passkey counts. */
  count: number;
  /** What it is stored as from now on, where the secret has changed. */
  fresh?: (Partial<TotpRecord> & Pick<TotpRecord, "digest" | "secretId">) | undefined;
};

export type FactorFinish = SessionStart & {
  from: FactorFrom;
  factor: RightFactor;
};

/** Makes the session; `wrong` if the factor was used meanwhile, `gone` if no sign-in waits any more. */
export async function finishSecondFactor(
  { db }: { db: Database },
  { from, factor, ...finish }: FactorFinish,
): Promise<"done" | "wrong" | "gone"> {
  const keys = toFactorKeys(from);
  const outcome = await call(db, "finish_second_factor", {
    pending_shown: from.shown,
    kind: from.kind,
    factor_key: factor.key,
    factor_shown: factor.proofs === "" ? [] : factor.proofs.split(","),
    factor_count: factor.count,
    fresh_sealed: factor.fresh?.sealed,
    fresh_digest: factor.fresh?.digest,
    fresh_secret_id: factor.fresh?.secretId,
    presented: finish.presented,
    ...toSessionValues(finish),
    client_key: keys.client,
    device_key: finish.isKnownDevice ? keys.device : null,
    shown_from: from.address,
    device_name: finish.deviceName,
  });
  return outcome as "done" | "wrong" | "gone";
}

function toFactorKeys({ address, device }: FactorFrom): { client: string; device: string } {
  const [network = ""] = toClient(address).networks;
  return { client: `client ${toDigest(network)}`, device: `device ${device?.id ?? ""}` };
}

/** Notes that a second factor was wrong: someone knows the password. */
export async function noteWrongFactor(
  { db }: { db: Database },
  { userId, kind, from }: { userId: string; kind: FactorKind; from: string },
): Promise<void> {
  await call(db, "note_wrong_factor", { who: userId, kind, shown_from: from });
}
