/**
 * The challenge that a passkey signs: random, for one purpose, and in a sealed cookie that no other host can read or plant.
 * That it is used once is for the database to say, in the statement that uses it.
 *
 * @module
 */
import * as v from "valibot";
import { type IdentitySecrets, seal, unseal } from "../accounts/secrets/mod.ts";
import { readCookies, toSetCookie } from "../http/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";

export const CHALLENGE_COOKIE = "__Host-rowhouse_passkey";
/** How long a person may take to answer. */
export const CHALLENGE_LIFE_S = 600;
/** A second tab gets the same challenge while there is so much time left: it must not invalidate the first one's. */
const KEPT_S = 300;
const CHALLENGE_BYTES = 32;

const Purpose = v.variant("kind", [
  /** A passkey alone: whose it is, its answer says. */
  v.object({ kind: v.literal("sign-in") }),
  v.object({ kind: v.literal("second-factor"), pendingId: v.string() }),
  v.object({ kind: v.literal("register"), userId: v.string(), sessionId: v.string() }),
]);
const Kept = v.object({ challenge: v.string(), startedAtS: v.number(), purpose: Purpose });

export type ChallengePurpose = v.InferOutput<typeof Purpose>;
type Kept = v.InferOutput<typeof Kept>;
/** It is no one's: who uses it is not known yet, or is in its purpose. */
const SEALING = { purpose: "passkey challenge", owner: "" } as const;

type SealDeps = { identitySecrets: IdentitySecrets; randomBytes: RandomBytes };
type ReadDeps = { identitySecrets: IdentitySecrets; now: () => number };

/**
 * A challenge for a page that is about to be shown, and the cookie that goes with it, unless the browser has it already.
 * After one has failed, which may have been used, there is a new one.
 */
export function makeChallenge(
  deps: SealDeps & ReadDeps,
  request: Request,
  { purpose, isNew = false }: { purpose: ChallengePurpose; isNew?: boolean },
): { challenge: string; cookies: string[] } {
  const old = isNew ? undefined : readKept(deps, request, { purpose, lifeS: KEPT_S });
  if (old !== undefined) return { challenge: old, cookies: [] };
  const challenge = Buffer.from(deps.randomBytes(CHALLENGE_BYTES)).toString("base64url");
  const kept: Kept = { challenge, startedAtS: Math.floor(deps.now() / 1000), purpose };
  const sealing = { by: deps.identitySecrets.current, ...SEALING };
  const text = seal(sealing, JSON.stringify(kept), deps).toString("base64url");
  const cookie = toSetCookie(CHALLENGE_COOKIE, text, { path: "/", maxAgeS: CHALLENGE_LIFE_S });
  return { challenge, cookies: [cookie] };
}

/** The challenge that this browser was given for this very purpose, unless that was too long ago. */
export function readChallenge(
  deps: ReadDeps,
  request: Request,
  purpose: ChallengePurpose,
): string | undefined {
  return readKept(deps, request, { purpose, lifeS: CHALLENGE_LIFE_S });
}

export function clearChallenge(): string {
  return toSetCookie(CHALLENGE_COOKIE, "", { path: "/", maxAgeS: 0 });
}

function readKept(
  { identitySecrets, now }: ReadDeps,
  request: Request,
  { purpose, lifeS }: { purpose: ChallengePurpose; lifeS: number },
): string | undefined {
  const [text, ...more] = readCookies(request.headers.get("cookie"), CHALLENGE_COOKIE);
  if (text === undefined || more.length > 0) return undefined;
  for (const by of identitySecrets.all) {
    const kept = readJson(unseal({ by, ...SEALING }, Buffer.from(text, "base64url")));
    if (kept === undefined) continue;
    const isUsable =
      Bun.deepEquals(kept.purpose, purpose) && now() / 1000 - kept.startedAtS < lifeS;
    return isUsable ? kept.challenge : undefined;
  }
  return undefined;
}

/** `undefined` for what was not sealed here, or by another release. */
function readJson(text: string | undefined): Kept | undefined {
  if (text === undefined) return undefined;
  const parsed = v.safeParse(Kept, JSON.parse(text));
  return parsed.success ? parsed.output : undefined;
}
