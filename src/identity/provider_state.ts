/**
 * The state of a sign-in with a provider, in a sealed cookie. Its content is checked again at the end of the
 * sign-in.
 *
 * @module
 */
import * as v from "valibot";
import { makeSealedCookie } from "./sealed_cookie.ts";

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

const COOKIE = makeSealedCookie({
  name: STATE_COOKIE,
  purpose: "provider state",
  schema: ProviderState,
  lifeS: STATE_LIFE_S,
});

/** The `Set-Cookie` header that starts a sign-in and replaces an earlier one in the same browser. */
export const toStateCookie = COOKIE.set;
export const clearState = COOKIE.clear;
/** The sign-in that this browser started; `undefined` if it expired. */
export const readState = COOKIE.read;
