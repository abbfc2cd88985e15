/**
 * Recovery codes. Each code replaces a missing second factor once. The codes are displayed once. The database stores digests of
 * their proofs, which are derived from the service's secret.
 *
 * @module
 */
import { cleanPasted } from "../../std/pasted_text.ts";
import { type RandomBytes, randomText } from "../../std/random_text.ts";
import {
  type IdentitySecret,
  type IdentitySecrets,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";

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
