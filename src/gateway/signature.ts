/**
 * Signatures between the gateway and a service. The signed text is eight lines, separated by `\n`:
 *
 * ```text
 * rowhouse-v1                                version
 * data                                       audience: data or identity
 * POST                                       method
 * /v1/data/db/todos?limit=1                  target, exactly as sent
 * 1767225600000                              timestamp, milliseconds since 1970
 * bm9uY2Utbm9uY2Utbm9uYw                     nonce; empty for GET and HEAD, which need none
 * 9f86d081884c7d659a2feaa0c55ad015…          SHA-256 of the body, hexadecimal
 * eyJyZXF1ZXN0SWQiOiJ…                       identity context, base64url
 * ```
 *
 * The signature is `v1=` and the hexadecimal HMAC-SHA-256 of that text. The first of the audience's secrets signs and all
 * verify, so that secrets rotate without downtime. Test vector: the secret `0123456789abcdef0123456789abcdef`,
 * audience `data`, `POST /v1/data/db/todos?x=1`, timestamp `1767225600000`, nonce `bm9uY2Utbm9uY2Utbm9uYw`, body
 * `{"title":"Milk"}`, context `e30` give
 * `v1=57f057a67f0d93b261c0772063e917f52bf89ba79db7580e8746b90085810793`.
 *
 * Never returns the reason for a failure to the caller: only the log has it.
 *
 * @module
 */
import { createHash, timingSafeEqual } from "node:crypto";

export const AUDIENCES = ["data", "identity"] as const;
export type Audience = (typeof AUDIENCES)[number];

/** The signed headers, in lowercase. */
export const SIGNED_HEADERS = {
  timestamp: "rowhouse-timestamp",
  nonce: "rowhouse-nonce",
  context: "rowhouse-context",
  signature: "rowhouse-signature",
} as const;

export type Signed = {
  audience: Audience;
  method: string;
  /** Path and query, exactly as sent. */
  target: string;
  /** Milliseconds since 1970, as digits. */
  timestamp: string;
  nonce: string;
  body: Uint8Array;
  context: string;
};

/** Minimum length of a secret in bytes: the length of the hash. */
export const MIN_SECRET_BYTES = 32;
const PREFIX = "v1=";

/** The value of `Rowhouse-Signature`. */
export function sign(secret: string, signed: Signed): string {
  return PREFIX + digest(secret, canonical(signed)).toString("hex");
}

/** Whether one of the secrets created this signature. Compares all secrets in constant time. */
export function isSignedBy(secrets: readonly string[], signed: Signed, signature: string): boolean {
  if (!/^v1=[0-9a-f]{64}$/.test(signature)) return false;
  const claimed = Buffer.from(signature.slice(PREFIX.length), "hex");
  const text = canonical(signed);
  let found = false;
  for (const secret of secrets) {
    if (timingSafeEqual(digest(secret, text), claimed)) found = true;
  }
  return found;
}

function canonical(signed: Signed): string {
  const { audience, method, target, timestamp, nonce, body, context } = signed;
  return `rowhouse-v1\n${audience}\n${method}\n${target}\n${timestamp}\n${nonce}\n${hashBody(body)}\n${context}`;
}

const NO_BODY = createHash("sha256").digest("hex");

function hashBody(body: Uint8Array): string {
  return body.length === 0 ? NO_BODY : Bun.CryptoHasher.hash("sha256", body, "hex");
}

function digest(secret: string, text: string): Buffer {
  return new Bun.CryptoHasher("sha256", secret).update(text).digest();
}
