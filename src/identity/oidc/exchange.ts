/**
 * Exchanges the provider's code for a token and verifies its issuer, audience, signature, times and nonce. A failure gets a
 * reason for operators. The provider's response is not stored.
 * @see https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
 * @see https://www.rfc-editor.org/rfc/rfc9207
 *
 * @module
 */

import {
  authorizationCodeGrant,
  type Configuration,
  fetchUserInfo,
  type IDToken,
} from "openid-client";
import * as v from "valibot";
import { seal, unseal } from "../../records/secrets/mod.ts";
import type { Subject } from "../../records/sessions/mod.ts";
import { tryParseJson } from "../../std/json.ts";
import { PROVIDER_STATE_LIFE_S } from "../../std/limits.ts";
import { makeHostCookie, makeSealedCookie, type SealDeps, type UnsealDeps } from "../cookies.ts";
import { CLOCK_TOLERANCE_S, type Provider } from "../providers.ts";
import { ReturnTo } from "../return_to.ts";
import { type Failure, toClaimFailure, toFailure } from "./failure.ts";

// The state of sign-ins with a provider, in a sealed cookie: each tab of a browser can have one.
// Their content is checked again at the end of the sign-in. The parameter `state` also has the
// destination, for callbacks that are opened later.

export const STATE_COOKIE = "__Host-rowhouse_oidc";

const STATE_ENTRIES = {
  provider: v.string(),
  issuer: v.string(),
  state: v.string(),
  nonce: v.string(),
  verifier: v.string(),
  startedAtS: v.number(),
  returnTo: ReturnTo,
  /** The person to link; `undefined` for a sign-in. */
  linkUserId: v.optional(v.string()),
};
const ProviderState = v.object(STATE_ENTRIES);
/** The latest sign-in, and earlier ones that can still be open in other tabs. */
const Pending = v.object({ ...STATE_ENTRIES, earlier: v.optional(v.array(ProviderState)) });

export type ProviderState = v.InferOutput<typeof ProviderState>;

const COOKIE = makeSealedCookie({
  name: STATE_COOKIE,
  purpose: "provider state",
  schema: Pending,
  lifeS: PROVIDER_STATE_LIFE_S,
});

const CHOICE = makeHostCookie("__Host-rowhouse_oidc_choice", PROVIDER_STATE_LIFE_S);

/** The provider whose account was rejected in this browser. */
export const readChoice = CHOICE.read;

/** The `Set-Cookie` header after which the next sign-in with the provider asks for an account. */
export const toChoice = CHOICE.set;

/** Removes the choice from a browser that has one. */
export function clearChoice(request: Request): string[] {
  return readChoice(request) === undefined ? [] : [CHOICE.clear()];
}

/** Max sign-ins of a browser at a time. */
const MAX_PENDING = 4;
/** Browsers drop larger cookies. */
const MAX_COOKIE_CHARS = 4000;

/** The `Set-Cookie` header that starts a sign-in; of earlier sign-ins, it keeps as many as fit. */
export function toStateCookie(
  deps: SealDeps,
  state: ProviderState,
  earlier: readonly ProviderState[] = [],
): string {
  for (let count = Math.min(earlier.length, MAX_PENDING - 1); ; count--) {
    const cookie = COOKIE.set(deps, { ...state, earlier: earlier.slice(0, count) });
    if (count === 0 || cookie.length <= MAX_COOKIE_CHARS) return cookie;
  }
}

/** The sign-ins that this browser started, latest first, without expired ones. */
export function readStates(request: Request, deps: UnsealDeps): ProviderState[] {
  const { earlier = [], ...latest } = COOKIE.read(request, deps) ?? {};
  if (!("state" in latest)) return [];
  const fresh = earlier.filter(
    ({ startedAtS }) => deps.now() / 1000 - startedAtS < PROVIDER_STATE_LIFE_S,
  );
  return [latest, ...fresh];
}

/** The `Set-Cookie` header that ends a sign-in. */
export function endState(
  request: Request,
  deps: SealDeps & UnsealDeps,
  ended: ProviderState,
): string {
  const others = readStates(request, deps).filter(({ state }) => state !== ended.state);
  const [latest, ...earlier] = others;
  return latest === undefined ? COOKIE.clear() : toStateCookie(deps, latest, earlier);
}

/** Longer addresses could exceed a provider's limit. */
const MAX_SEALED_CHARS = 600;

/** The parameter `state` for a random text: with the destination, unless it is too long. */
export function toStateParameter(deps: SealDeps, state: string, returnTo: ReturnTo): string {
  const by = deps.identitySecrets.current;
  const sealing = { by, purpose: "provider state", owner: state } as const;
  const sealed = seal(sealing, JSON.stringify(returnTo), deps).toString("base64url");
  return sealed.length > MAX_SEALED_CHARS ? state : `${state}.${sealed}`;
}

/** The random text in the parameter `state`. */
export function readStateText(parameter: string): string {
  return parameter.split(".", 1)[0] ?? "";
}

/** The destination in the parameter `state`; `undefined` if this service did not seal it. */
export function readStateReturn(
  parameter: string,
  { identitySecrets }: Pick<UnsealDeps, "identitySecrets">,
): ReturnTo | undefined {
  const [owner = "", sealed = ""] = parameter.split(".");
  for (const by of identitySecrets.all) {
    const text = unseal({ by, purpose: "provider state", owner }, Buffer.from(sealed, "base64url"));
    const read = v.safeParse(ReturnTo, text === undefined ? undefined : tryParseJson(text));
    if (read.success) return read.output;
  }
  return undefined;
}

const Profile = v.object({
  email: v.optional(v.string()),
  email_verified: v.optional(v.unknown()),
  name: v.optional(v.string()),
});
export type Profile = v.InferOutput<typeof Profile>;

export type Claims = Readonly<Record<string, unknown>>;

export type Signed = Subject & {
  /** When the person last authenticated at the provider, in seconds; `undefined` if the provider does not report it. */
  authTimeS: number | undefined;
  claims: Claims;
  /** The claims of the user-info endpoint, fetched once; empty without an endpoint. @throws the provider's failure */
  readUserInfo: () => Promise<Claims>;
};
type Exchange = { kind: "right"; signed: Signed } | Failure;

type ExchangeOptions = { callback: string; query: string; state: ProviderState; now: () => number };

/** Verifies the provider's response, or returns the reason for the failure. Never throws. */
export async function exchange(
  provider: Provider,
  { callback, query, state, now }: ExchangeOptions,
): Promise<Exchange> {
  try {
    const configuration = await provider.configure();
    const tokens = await authorizationCodeGrant(configuration, new URL(`${callback}?${query}`), {
      // Its random part is the state of this browser's sign-in.
      expectedState: new URLSearchParams(query).get("state") ?? "",
      expectedNonce: state.nonce,
      pkceCodeVerifier: state.verifier,
      idTokenExpected: true,
    });
    provider.keepKeys(configuration);
    const claims = tokens.claims();
    if (claims === undefined) return toClaimFailure("no id_token");
    const reason = findClaimIssue(claims, { latestS: now() / 1000 + CLOCK_TOLERANCE_S });
    if (reason !== undefined) return toClaimFailure(reason);
    return {
      kind: "right",
      signed: {
        issuer: claims.iss,
        subject: claims.sub,
        authTimeS: claims.auth_time,
        claims,
        readUserInfo: makeUserInfo(configuration, claims, tokens.access_token),
      },
    };
  } catch (error) {
    return toFailure(error);
  }
}

/** The reason why verified claims are unusable; `undefined` if they are usable. */
function findClaimIssue(
  { iat, sub, auth_time: authTimeS }: IDToken,
  { latestS }: { latestS: number },
): string | undefined {
  if (iat > latestS) return "issued in the future";
  // https://openid.net/specs/openid-connect-core-1_0.html#IDToken
  if (!/^[\x20-\x7e]{1,255}$/.test(sub)) return "sub is not 1 to 255 printable ASCII characters";
  return authTimeS !== undefined && authTimeS > latestS ? "auth_time in the future" : undefined;
}

function makeUserInfo(
  configuration: Configuration,
  { sub }: IDToken,
  accessToken: string,
): () => Promise<Claims> {
  let info: Promise<Claims> | undefined;
  return () => {
    const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
    info ??= hasMore ? fetchUserInfo(configuration, accessToken, sub) : Promise.resolve({});
    return info;
  };
}

/** The person's profile, from the token or else from the user-info endpoint. */
export async function readProfile({ claims, readUserInfo }: Signed): Promise<Profile> {
  const held = v.safeParse(Profile, claims);
  if (held.success && held.output.email !== undefined) return held.output;
  try {
    const info = v.safeParse(Profile, await readUserInfo());
    return info.success ? info.output : {};
  } catch {
    return {}; // without an address, no one is linked by address
  }
}
