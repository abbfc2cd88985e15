/**
 * The challenge that a passkey signs: random, for one purpose, in a sealed cookie that no other host can read or plant. The
 * database ensures that it is used only once, in the statement that uses it.
 *
 * @module
 */
import * as v from "valibot";
import { type IdentitySecrets, seal, unseal } from "../accounts/secrets/mod.ts";
import { readCookies, toSetCookie } from "../http/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";

export const CHALLENGE_COOKIE = "__Host-rowhouse_passkey";
/** Lifetime of a challenge. */
export const CHALLENGE_LIFE_S = 600;
/** Age up to which a second tab gets the same challenge, so that it does not invalidate the first tab. */
const LIFE_S = 300;
const CHALLENGE_BYTES = 32;

const Purpose = v.variant("kind", [
  /** A passkey without a password: its response names the owner. */
  v.object({ kind: v.literal("sign-in") }),
  v.object({ kind: v.literal("second-factor"), pendingId: v.string() }),
  v.object({ kind: v.literal("register"), userId: v.string(), sessionId: v.string() }),
]);
const Stored = v.object({ challenge: v.string(), startedAtS: v.number(), purpose: Purpose });

export type ChallengePurpose = v.InferOutput<typeof Purpose>;
type Stored = v.InferOutput<typeof Stored>;
/** Sealed without an owner: the person is unknown at this point, or part of the purpose. */
const SEALING = { purpose: "passkey challenge", owner: "" } as const;

type SealDeps = { identitySecrets: IdentitySecrets; randomBytes: RandomBytes };
type ReadDeps = { identitySecrets: IdentitySecrets; now: () => number };

/**
 * A challenge for a page, and its cookie unless the browser already has it. `isNew` creates a new challenge after a failure,
 * which may have used the previous one.
 */
export function makeChallenge(
  deps: SealDeps & ReadDeps,
  request: Request,
  { purpose, isNew = false }: { purpose: ChallengePurpose; isNew?: boolean },
): { challenge: string; cookies: string[] } {
  const old = isNew ? undefined : readStored(deps, request, { purpose, lifeS: LIFE_S });
  if (old !== undefined) return { challenge: old, cookies: [] };
  const challenge = Buffer.from(deps.randomBytes(CHALLENGE_BYTES)).toString("base64url");
  const stored: Stored = { challenge, startedAtS: Math.floor(deps.now() / 1000), purpose };
  const sealing = { by: deps.identitySecrets.current, ...SEALING };
  const text = seal(sealing, JSON.stringify(stored), deps).toString("base64url");
  const cookie = toSetCookie(CHALLENGE_COOKIE, text, { path: "/", maxAgeS: CHALLENGE_LIFE_S });
  return { challenge, cookies: [cookie] };
}

/** The browser's challenge for this purpose; `undefined` if it expired. */
export function readChallenge(
  deps: ReadDeps,
  request: Request,
  purpose: ChallengePurpose,
): string | undefined {
  return readStored(deps, request, { purpose, lifeS: CHALLENGE_LIFE_S });
}

export function clearChallenge(): string {
  return toSetCookie(CHALLENGE_COOKIE, "", { path: "/", maxAgeS: 0 });
}

function readStored(
  { identitySecrets, now }: ReadDeps,
  request: Request,
  { purpose, lifeS }: { purpose: ChallengePurpose; lifeS: number },
): string | undefined {
  const [text, ...more] = readCookies(request.headers.get("cookie"), CHALLENGE_COOKIE);
  if (text === undefined || more.length > 0) return undefined;
  for (const by of identitySecrets.all) {
    const stored = readJson(unseal({ by, ...SEALING }, Buffer.from(text, "base64url")));
    if (stored === undefined) continue;
    const isUsable =
      Bun.deepEquals(stored.purpose, purpose) && now() / 1000 - stored.startedAtS < lifeS;
    return isUsable ? stored.challenge : undefined;
  }
  return undefined;
}

/** `undefined` if the text was not sealed by this service and release. */
function readJson(text: string | undefined): Stored | undefined {
  if (text === undefined) return undefined;
  const parsed = v.safeParse(Stored, JSON.parse(text));
  return parsed.success ? parsed.output : undefined;
}
