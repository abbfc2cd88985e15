/**
 * What a browser carries from the start of a sign-in with a provider to its end, in a cookie that no other host can read or
 * plant, and that no one can read or make without the service's secret. What it says is checked again at the end.
 *
 * @module
 */
import * as v from "valibot";
import { type IdentitySecrets, seal, unseal } from "../accounts/secrets/mod.ts";
import { readCookies, toSetCookie } from "../http/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";

export const STATE_COOKIE = "__Host-rowhouse_oidc";
/** How long a person may take at the provider. */
const STATE_LIFE_S = 600;

const ReturnTo = v.variant("kind", [
  v.object({ kind: v.literal("account") }),
  v.object({ kind: v.literal("app"), slug: v.string(), redirectUri: v.string() }),
  v.object({ kind: v.literal("console"), path: v.string() }),
  v.object({ kind: v.literal("own"), path: v.string() }),
]);
const ProviderState = v.object({
  provider: v.string(),
  issuer: v.string(),
  state: v.string(),
  nonce: v.string(),
  verifier: v.string(),
  startedAtS: v.number(),
  returnTo: ReturnTo,
  /** Whom to link, where that is what it is for. */
  linkUserId: v.optional(v.string()),
});

/** Where a person goes after it. */
export type ReturnTo = v.InferOutput<typeof ReturnTo>;
export type ProviderState = v.InferOutput<typeof ProviderState>;

/** It is no one's: who comes back is not known yet. */
const SEALING = { purpose: "provider state", owner: "" } as const;

type SealDeps = { identitySecrets: IdentitySecrets; randomBytes: RandomBytes };

/** The `Set-Cookie` header that starts a sign-in; one under way in the same browser ends. */
export function toStateCookie(deps: SealDeps, state: ProviderState): string {
  const sealing = { by: deps.identitySecrets.current, ...SEALING };
  const text = seal(sealing, JSON.stringify(state), deps).toString("base64url");
  return toSetCookie(STATE_COOKIE, text, { path: "/", maxAgeS: STATE_LIFE_S });
}

export function clearState(): string {
  return toSetCookie(STATE_COOKIE, "", { path: "/", maxAgeS: 0 });
}

/** The sign-in that this browser has started, unless that was too long ago. */
export function readState(
  request: Request,
  { identitySecrets, now }: { identitySecrets: IdentitySecrets; now: () => number },
): ProviderState | undefined {
  const [text, ...more] = readCookies(request.headers.get("cookie"), STATE_COOKIE);
  if (text === undefined || more.length > 0) return undefined;
  for (const by of identitySecrets.all) {
    const state = readJson(unseal({ by, ...SEALING }, Buffer.from(text, "base64url")));
    if (state === undefined) continue;
    return now() / 1000 - state.startedAtS < STATE_LIFE_S ? state : undefined;
  }
  return undefined;
}

/** `undefined` for what was not sealed here, or by another release. */
function readJson(text: string | undefined): ProviderState | undefined {
  if (text === undefined) return undefined;
  const parsed = v.safeParse(ProviderState, JSON.parse(text));
  return parsed.success ? parsed.output : undefined;
}
