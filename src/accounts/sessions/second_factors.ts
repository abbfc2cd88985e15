/** The database part of a sign-in's second step: counts the attempt before a factor is checked, and finishes after it. @module */
import { call, type Database } from "../../db/mod.ts";
import { MAX_COUNT_S } from "../../std/limits.ts";
import { toDigest } from "../secrets/secret_text.ts";
import type { Device } from "./device_text.ts";
import { type SessionStart, toSessionValues } from "./sessions.ts";
import { SIGN_IN_LIMITS, toClient } from "./sign_in_attempts.ts";
import type { TotpRecord } from "./totp.ts";

export type FactorKind = "totp" | "recovery" | "passkey";

/** Max attempts of a person with a kind of factor. */
const FACTOR_LIMITS = {
  /** Per window, from one client, or on a device on which the person has used a factor before. */
  pair: 5,
  /** Per window, from all clients. */
  person: 15,
  /** Codes of an authenticator app within `lastingS`. A guess is correct with a probability of three in a million. */
  lasting: 100,
  lastingS: MAX_COUNT_S,
} as const;

/** The origin of an attempt. */
export type FactorFrom = {
  /** The pending sign-in that the browser presents. */
  presented: string;
  kind: FactorKind;
  /** The client's IP address. */
  address: string;
  /** Attempts on this device have a separate limit if the person has used a second factor there. */
  device: Device | undefined;
};

export type FactorAttempt =
  | { waitS: number }
  | {
      waitS: 0;
      userId: string;
      isKnownDevice: boolean;
      /** The stored authenticator app, and the time step of the last used code. */
      totp: (Pick<TotpRecord, "sealed" | "secretId"> & { lastStep: number }) | null;
      /** The person's passkeys: id and public key in hexadecimal. */
      passkeys: { id: string; publicKey: string; secretId: string }[] | null;
    };

/** Counts an attempt; `undefined` if no sign-in is pending. */
export async function beginSecondFactor(
  { db }: { db: Database },
  from: FactorFrom,
): Promise<FactorAttempt | undefined> {
  const keys = toFactorKeys(from);
  const attempt = await call(db, "begin_second_factor", {
    pending_cookie: from.presented,
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

/** A factor that the service has verified. */
export type RightFactor = {
  /** Proofs in hexadecimal, comma-separated; one of them matches the stored digest. */
  proofs: string;
  /** The id of a passkey, in hexadecimal. */
  key?: string;
  /** The time step of a code, or the signature counter of a passkey. */
  count: number;
  /** The new stored form, if the secret has changed. */
  fresh?: (Partial<TotpRecord> & Pick<TotpRecord, "digest" | "secretId">) | undefined;
};

export type FactorFinish = SessionStart & {
  from: FactorFrom;
  factor: RightFactor;
};

/** Creates the session; `wrong` if the factor was already used, `no_sign_in` if no sign-in is pending. */
export async function finishSecondFactor(
  { db }: { db: Database },
  { from, factor, ...finish }: FactorFinish,
): Promise<"done" | "wrong" | "no_sign_in"> {
  const keys = toFactorKeys(from);
  const outcome = await call(db, "finish_second_factor", {
    pending_cookie: from.presented,
    kind: from.kind,
    factor_key: factor.key,
    factor_proofs: factor.proofs === "" ? [] : factor.proofs.split(","),
    factor_count: factor.count,
    fresh_sealed: factor.fresh?.sealed,
    fresh_digest: factor.fresh?.digest,
    fresh_secret_id: factor.fresh?.secretId,
    ...toSessionValues(finish),
    client_key: keys.client,
    device_key: finish.isKnownDevice ? keys.device : null,
    client_address: from.address,
  });
  return outcome as "done" | "wrong" | "no_sign_in";
}

function toFactorKeys({ address, device }: FactorFrom): { client: string; device: string } {
  const [network = ""] = toClient(address).networks;
  return { client: `client ${toDigest(network)}`, device: `device ${device?.id ?? ""}` };
}

/** Records a wrong second factor: someone knows the password. */
export async function recordWrongFactor(
  { db }: { db: Database },
  { userId, kind, from }: { userId: string; kind: FactorKind; from: string },
): Promise<void> {
  await call(db, "record_wrong_factor", { who: userId, kind, client_address: from });
}
