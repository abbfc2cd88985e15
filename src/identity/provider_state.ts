/**
 * The state of a sign-in with a provider, in a cookie that no other host can read or plant, sealed with the service's secret.
 * Its content is checked again at the end of the sign-in.
 *
 * @module
 */
import * as v from "valibot";
import { type IdentitySecrets, seal, unseal } from "../accounts/secrets/mod.ts";
import { readCookies, toSetCookie } from "../http/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";

export const STATE_COOKIE = "__Host-rowhouse_oidc";
/** Time limit for the sign-in at the provider. */
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
  /** The person to link; `undefined` for a sign-in. */
  linkUserId: v.optional(v.string()),
});

/** The destination after the sign-in. */
export type ReturnTo = v.InferOutput<typeof ReturnTo>;
export type ProviderState = v.InferOutput<typeof ProviderState>;

/** Sealed without an owner: the person is unknown at this point. */
const SEALING = { purpose: "provider state", owner: "" } as const;

type SealDeps = { identitySecrets: IdentitySecrets; randomBytes: RandomBytes };

/** The `Set-Cookie` header that starts a sign-in and replaces an earlier one in the same browser. */
export function toStateCookie(deps: SealDeps, state: ProviderState): string {
  const sealing = { by: deps.identitySecrets.current, ...SEALING };
  const text = seal(sealing, JSON.stringify(state), deps).toString("base64url");
  return toSetCookie(STATE_COOKIE, text, { path: "/", maxAgeS: STATE_LIFE_S });
}

export function clearState(): string {
  return toSetCookie(STATE_COOKIE, "", { path: "/", maxAgeS: 0 });
}

/** The sign-in that this browser started; `undefined` if it expired. */
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

/** `undefined` if the text was not sealed by this service and release. */
function readJson(text: string | undefined): ProviderState | undefined {
  if (text === undefined) return undefined;
  const parsed = v.safeParse(ProviderState, JSON.parse(text));
  return parsed.success ? parsed.output : undefined;
}
