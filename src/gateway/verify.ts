/**
 * Verifies signed requests in a service: from the gateway, for this service, recent, complete, and not a replay. A service
 * behind a gateway accepts nothing else. Reads bodies for both ends. Never returns the reason for a failure to the caller.
 *
 * @module
 */
import { type BodyLimit, readBody } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { SIGNATURE_LIFE_S } from "../std/limits.ts";
import { isNonce, makeNonces } from "./nonces.ts";
import { type Audience, isSignedBy, SIGNED_HEADERS } from "./signature.ts";
import { readSignedContext, type SignedContext } from "./signed_context.ts";

/** Max clock difference between two machines, in either direction. */
export const WINDOW_MS: number = SIGNATURE_LIFE_S * 1000;

export type VerifyOptions = {
  audience: Audience;
  secrets: readonly string[];
  now: () => number;
};

/** A request as it arrived: `target` is the path and query as sent, `body` the whole body. */
export type Claim = { method: string; target: string; headers: Headers; body: Uint8Array };

/** The context of a valid request, or the reason for the rejection, for the log. */
type Verdict = { context: SignedContext } | { reason: string };

export type Verify = (claim: Claim) => Verdict;

/** A verifier of signed requests to one service. */
export function makeVerify({ audience, secrets, now }: VerifyOptions): Verify {
  const nonces = makeNonces({ now, windowMs: WINDOW_MS });
  return ({ method, target, headers, body }) => {
    const timestamp = headers.get(SIGNED_HEADERS.timestamp) ?? "";
    const nonce = headers.get(SIGNED_HEADERS.nonce) ?? "";
    const contextText = headers.get(SIGNED_HEADERS.context) ?? "";
    const signature = headers.get(SIGNED_HEADERS.signature);
    if (signature === null) return { reason: "unsigned" };
    if (!/^\d{13}$/.test(timestamp)) return { reason: "timestamp unreadable" };
    if (Math.abs(now() - Number(timestamp)) > WINDOW_MS)
      return { reason: "timestamp out of window" };
    const signed = { audience, method, target, timestamp, nonce, body, context: contextText };
    if (!isSignedBy(secrets, signed, signature)) return { reason: "signature differs" };
    // Record nonces only after the signature is verified: unsigned requests must not use memory.
    const issue = writes(method) ? useNonce(nonce, Number(timestamp)) : undefined;
    if (issue !== undefined) return { reason: issue };
    const context = readSignedContext(contextText);
    return context === undefined ? { reason: "context unreadable" } : { context };
  };

  function useNonce(nonce: string, timestamp: number): string | undefined {
    if (!isNonce(nonce)) return "nonce missing";
    const use = nonces.use(nonce, timestamp);
    return use === "new" ? undefined : `nonce ${use}`;
  }
}

/** Whether a method writes. Requests with such a method are accepted only once. */
export function writes(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}

const EMPTY = new Uint8Array();

/** The body, possibly empty; or a problem: too large, incomplete or too slow. */
export async function readBoundedBody(
  request: Request,
  limit: BodyLimit,
): Promise<Uint8Array<ArrayBuffer> | Problem> {
  if (!writes(request.method) || request.body === null) return EMPTY;
  try {
    return await readBody(request, limit);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}
