/**
 * Codes of authenticator apps (RFC 6238): six digits, thirty seconds each. The app's secret is sealed with the service's, for
 * its owner alone; nothing else is stored of it.
 *
 * @module
 */
import { Secret, TOTP } from "otpauth";
import type { RandomBytes } from "../../std/random_text.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";
import { seal, unseal } from "../secrets/sealed_text.ts";

const PERIOD_S = 30;
/** 160 bits, as the RFC advises. */
const SECRET_BYTES = 20;
/** How many steps the clock of a telephone may be off. */
const WINDOW = 1;
export const TOTP_CODE = /^\d{6}$/;

type TotpDeps = { identitySecrets: IdentitySecrets; randomBytes: RandomBytes };

/** The secret of an authenticator app in Base32, as people type it where they cannot scan. */
export function makeTotpKey({ randomBytes }: Pick<TotpDeps, "randomBytes">): string {
  const bytes = randomBytes(SECRET_BYTES);
  return new Secret({ buffer: Uint8Array.from(bytes).buffer }).base32;
}

/** The `otpauth://` address that an authenticator app reads from the QR code. */
export function toTotpUri(
  key: string,
  { issuer, label }: { issuer: string; label: string },
): string {
  return new TOTP({ issuer, label, secret: Secret.fromBase32(key) }).toString();
}

/** The time step of a right code; `undefined` for a wrong one. */
export function findStep(key: string, code: string, nowMs: number): number | undefined {
  if (!TOTP_CODE.test(code)) return undefined;
  const totp = new TOTP({ secret: Secret.fromBase32(key), period: PERIOD_S });
  const delta = totp.validate({ token: code, window: WINDOW, timestamp: nowMs });
  return delta === null ? undefined : Math.floor(nowMs / 1000 / PERIOD_S) + delta;
}

/** What is stored of an app's secret: sealed, and a digest of the proof that it was sealed here; in hexadecimal. */
export type TotpRecord = { sealed: string; digest: string; secretId: string };

/** The record of an app's secret `key`, in Base32, made with the current secret of the service. */
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

/** The secret of an app, and what proves to the database that it was read. */
export type OpenedTotp = { key: string; proof: string; isCurrent: boolean };

/** `undefined` for what this service has not sealed for this person, or with a secret that it no longer has. */
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

/** An app's secret on its way through the page that shows it, until a code confirms it: good for its owner, for a while. */
export function sealNewTotp(deps: TotpDeps, userId: string, { key, endsAtMs }: NewTotp): string {
  const { current: by } = deps.identitySecrets;
  const sealing = { by, purpose: "new totp secret", owner: userId } as const;
  return seal(sealing, `${endsAtMs} ${key}`, deps).toString("base64url");
}

export type NewTotp = { key: string; endsAtMs: number };

/** `undefined` for one that was made for someone else, or too long ago. */
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
