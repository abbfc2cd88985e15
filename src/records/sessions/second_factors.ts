/** The database part of a sign-in's second step: counts the attempt before a factor is checked, and finishes after it. @module */

import { Secret, TOTP } from "otpauth";
import { call, type Database } from "../../db/mod.ts";
import { MAX_COUNT_S } from "../../std/limits.ts";
import { cleanPasted } from "../../std/pasted_text.ts";
import { type RandomBytes, randomText } from "../../std/random_text.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";
import { seal, toDigest, unseal } from "../secrets/secrets.ts";
import type { Device } from "./devices.ts";
import { type SessionStart, toSessionValues } from "./sessions.ts";
import { SIGN_IN_LIMITS, toClient } from "./sign_in_attempts.ts";

// Codes of authenticator apps (RFC 6238): six digits, thirty seconds each. Only the app's secret is
// stored, sealed with the service's secret for its owner.

const PERIOD_S = 30;
/** 160 bits, as the RFC advises. */
const SECRET_BYTES = 20;
/** Max clock difference of a phone, in steps. */
const WINDOW = 1;
export const TOTP_CODE = /^\d{6}$/;

/** The digits in a person's input, without the spaces and dashes that apps and mails show between them. */
export function readTotpCode(typed = ""): string {
  return cleanPasted(typed).replaceAll(/[\s.-]/g, "");
}

type TotpDeps = { identitySecrets: IdentitySecrets; randomBytes: RandomBytes };

/** The secret of an authenticator app in Base32, as people type it where they cannot scan. */
export function makeTotpKey({ randomBytes }: Pick<TotpDeps, "randomBytes">): string {
  return toTotpKey(randomBytes(SECRET_BYTES));
}

/**
 * The secret that a session shows until it is stored, which changes the version of the person's app: the same after a reload, because the app
 * may already have it.
 */
export function deriveTotpKey(
  { identitySecrets: { current } }: Pick<TotpDeps, "identitySecrets">,
  userId: string,
  { session, version }: { session: string; version: string },
): string {
  const bytes = current.prove("new totp key", userId, session, version);
  return toTotpKey(bytes.subarray(0, SECRET_BYTES));
}

function toTotpKey(bytes: Uint8Array): string {
  return new Secret({ buffer: Uint8Array.from(bytes).buffer }).base32;
}

/** The `otpauth://` address that an authenticator app reads from the QR code. */
export function toTotpUri(
  key: string,
  { issuer, label }: { issuer: string; label: string },
): string {
  return new TOTP({ issuer, label, secret: Secret.fromBase32(key) }).toString();
}

/** The time step of a correct code; `undefined` for a wrong code. */
export function findStep(key: string, code: string, nowMs: number): number | undefined {
  if (!TOTP_CODE.test(code)) return undefined;
  const totp = new TOTP({ secret: Secret.fromBase32(key), period: PERIOD_S });
  const delta = totp.validate({ token: code, window: WINDOW, timestamp: nowMs });
  return delta === null ? undefined : Math.floor(nowMs / 1000 / PERIOD_S) + delta;
}

/** The stored form of an app's secret: sealed, with a digest of the proof that this service sealed it; in hexadecimal. */
export type TotpRecord = { sealed: string; digest: string; secretId: string };

/** The record of an app's secret `key`, in Base32, sealed with the current secret of the service. */
export function makeTotpRecord(
  { identitySecrets: { current }, randomBytes }: TotpDeps,
  userId: string,
  key: string,
): TotpRecord {
  const sealing = { by: current, purpose: "totp secret", owner: userId } as const;
  const sealed = seal(sealing, key, { randomBytes }).toString("hex");
  const digest = toStoredDigest(proveSealed(current, userId, sealed), userId);
  return { sealed, digest, secretId: current.id };
}

/** The secret of an app, and the proof for the database that the service unsealed it. */
type OpenedTotp = { key: string; proof: string; isCurrent: boolean };

/** `undefined` if this service did not seal it for this person, or no longer has the secret. */
export function openTotp(
  { identitySecrets }: Pick<TotpDeps, "identitySecrets">,
  userId: string,
  { sealed, secretId }: Pick<TotpRecord, "sealed" | "secretId">,
): OpenedTotp | undefined {
  const by = findIdentitySecret(identitySecrets, secretId);
  if (by === undefined) return undefined;
  const sealing = { by, purpose: "totp secret", owner: userId } as const;
  const key = unseal(sealing, Buffer.from(sealed, "hex"));
  if (key === undefined) return undefined;
  const proof = Buffer.from(proveSealed(by, userId, sealed)).toString("hex");
  return { key, proof, isCurrent: by === identitySecrets.current };
}

function proveSealed(by: IdentitySecret, userId: string, sealed: string): Uint8Array {
  return by.prove("totp factor", userId, sealed);
}

/** An app's secret, sealed in the page that shows it until a code confirms it. Valid for its owner, for a limited time. */
export function sealNewTotp(deps: TotpDeps, userId: string, { key, endsAtMs }: NewTotp): string {
  const { current: by } = deps.identitySecrets;
  const sealing = { by, purpose: "new totp secret", owner: userId } as const;
  return seal(sealing, `${endsAtMs} ${key}`, deps).toString("base64url");
}

export type NewTotp = { key: string; endsAtMs: number };

/** `undefined` if it was sealed for another person or has expired. */
export function openNewTotp(
  { identitySecrets, now }: { identitySecrets: IdentitySecrets; now: () => number },
  userId: string,
  text: string,
): NewTotp | undefined {
  for (const by of identitySecrets.all) {
    const sealing = { by, purpose: "new totp secret", owner: userId } as const;
    const [endsAt = "", key = ""] =
      unseal(sealing, Buffer.from(text, "base64url"))?.split(" ") ?? [];
    if (key !== "" && Number(endsAt) > now()) return { key, endsAtMs: Number(endsAt) };
  }
  return undefined;
}

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

type FactorFinish = SessionStart & {
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

// Recovery codes. Each code replaces a missing second factor once. The codes are displayed once.
// The database stores digests of their proofs, which are derived from the service's secret.

/** Without letters that resemble digits or each other. */
const ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";
const COUNT = 10;
/** 59 random bits. */
const LENGTH = 12;
const GROUP = 4;
const CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`);

export type RecoveryCodes = {
  /** In groups, as people write them down. */
  texts: string[];
  /** The stored digests, comma-separated. */
  digests: string;
  secretId: string;
};

/** New recovery codes of a person, with the stored digests. */
export function makeRecoveryCodes(
  deps: { identitySecrets: IdentitySecrets; randomBytes: RandomBytes },
  userId: string,
): RecoveryCodes {
  const { current } = deps.identitySecrets;
  const codes = Array.from({ length: COUNT }, () => randomText(ALPHABET, LENGTH, deps.randomBytes));
  return {
    texts: codes.map((code) => code.match(new RegExp(`.{${GROUP}}`, "g"))?.join("-") ?? code),
    digests: codes.map((code) => toStoredDigest(prove(current, userId, code), userId)).join(","),
    secretId: current.id,
  };
}

/** The code in a person's input, with or without groups; `undefined` if it is malformed. */
export function readRecoveryCode(typed: string): string | undefined {
  const code = cleanPasted(typed)
    .toLowerCase()
    .replaceAll(/[\s.,;-]/g, "");
  return CODE.test(code) ? code : undefined;
}

/** The proofs of a code by every secret, comma-separated. */
export function proveRecoveryCode({ all }: IdentitySecrets, userId: string, code: string): string {
  return all.map((by) => Buffer.from(prove(by, userId, code)).toString("hex")).join(",");
}

function prove(by: IdentitySecret, userId: string, code: string): Uint8Array {
  return by.prove("recovery code", userId, code);
}
