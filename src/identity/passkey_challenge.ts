/**
 * The challenge that a passkey signs: random, for one purpose, in a sealed cookie. The database ensures that it is used only
 * once, in the statement that uses it.
 *
 * @module
 */
import * as v from "valibot";
import { CHALLENGE_LIFE_S } from "../std/limits.ts";
import { makeSealedCookie, type SealDeps, type UnsealDeps } from "./sealed_cookie.ts";

export const CHALLENGE_COOKIE = "__Host-rowhouse_passkey";
/** Age up to which a second tab gets the same challenge, so that it does not invalidate the first tab. */
const REUSE_S = 300;
const CHALLENGE_BYTES = 32;

const Purpose = v.variant("kind", [
  /** A passkey without a password: its response names the owner. */
  v.object({ kind: v.literal("sign-in") }),
  v.object({ kind: v.literal("second-factor"), pendingId: v.string() }),
  v.object({ kind: v.literal("register"), userId: v.string(), sessionId: v.string() }),
]);
const Stored = v.object({ challenge: v.string(), startedAtS: v.number(), purpose: Purpose });

export type ChallengePurpose = v.InferOutput<typeof Purpose>;
const COOKIE = makeSealedCookie({
  name: CHALLENGE_COOKIE,
  purpose: "passkey challenge",
  schema: Stored,
  lifeS: CHALLENGE_LIFE_S,
});

/**
 * A challenge for a page, and its cookie unless the browser already has it. `isNew` creates a new challenge after a failure,
 * which may have used the previous one.
 */
export function makeChallenge(
  deps: SealDeps & UnsealDeps,
  request: Request,
  { purpose, isNew = false }: { purpose: ChallengePurpose; isNew?: boolean },
): { challenge: string; cookies: string[] } {
  const startedAtS = Math.floor(deps.now() / 1000);
  const old = isNew ? undefined : readStored(deps, request, purpose);
  if (old !== undefined && startedAtS - old.startedAtS < REUSE_S)
    return { challenge: old.challenge, cookies: [] };
  const challenge = Buffer.from(deps.randomBytes(CHALLENGE_BYTES)).toString("base64url");
  return { challenge, cookies: [COOKIE.set(deps, { challenge, startedAtS, purpose })] };
}

/** The browser's challenge for this purpose; `undefined` if it expired. */
export function readChallenge(
  deps: UnsealDeps,
  request: Request,
  purpose: ChallengePurpose,
): string | undefined {
  return readStored(deps, request, purpose)?.challenge;
}

export const clearChallenge = COOKIE.clear;

function readStored(deps: UnsealDeps, request: Request, purpose: ChallengePurpose) {
  const stored = COOKIE.read(request, deps);
  return Bun.deepEquals(stored?.purpose, purpose) ? stored : undefined;
}
