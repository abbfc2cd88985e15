/**
 * Recovery codes, each of which stands in once for a second factor that is not at hand. Shown once; what is stored are digests
 * of their proofs, which follow from the service's secret.
 *
 * @module
 */
import { type RandomBytes, randomText } from "../../std/random_text.ts";
import {
  type IdentitySecret,
  type IdentitySecrets,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";

/** Without letters that look like digits, or like each other. */
const ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";
const COUNT = 10;
/** 59 random bits. */
const LENGTH = 12;
const GROUP = 4;
const CODE = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`);

export type RecoveryCodes = {
  /** As people write them down: in groups. */
  texts: string[];
  /** What is stored, with commas between. */
  digests: string;
  secretId: string;
};

/** New recovery codes of a person, with what is stored of them. */
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

/** The code in what a person typed, with or without groups; `undefined` if it can be none. */
export function readRecoveryCode(typed: string): string | undefined {
  const code = typed.toLowerCase().replaceAll(/[\s-]/g, "");
  return CODE.test(code) ? code : undefined;
}

/** The proofs of a code, by every secret that may have made what is stored; with commas between. */
export function proveRecoveryCode({ all }: IdentitySecrets, userId: string, code: string): string {
  return all.map((by) => Buffer.from(prove(by, userId, code)).toString("hex")).join(",");
}

function prove(by: IdentitySecret, userId: string, code: string): Uint8Array {
  return by.prove("recovery code", userId, code);
}
