/**
 * Codes of authenticator apps (RFC 6238): six digits, thirty seconds each. Only the app's secret is stored, sealed with the
 * service's secret for its owner.
 *
 * @module
 */
import { Secret, TOTP } from "otpauth";
import { cleanPasted } from "../../std/pasted_text.ts";
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
export type OpenedTotp = { key: string; proof: string; isCurrent: boolean };

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
