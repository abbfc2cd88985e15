/**
 * The provider's answer: its code is exchanged for a token, of which issuer, audience, signature, times and nonce are
 * verified. What does not hold is a reason for operators; nothing of the answer itself is kept.
 * @see https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
 * @see https://www.rfc-editor.org/rfc/rfc9207
 *
 * @module
 */
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  ClientError,
  type Configuration,
  fetchUserInfo,
  type IDToken,
  ResponseBodyError,
} from "openid-client";
import * as v from "valibot";
import type { Subject } from "../accounts/sessions/mod.ts";
import type { ProviderState } from "./provider_state.ts";
import { CLOCK_TOLERANCE_S, type Provider, ProviderAway } from "./providers.ts";

const Profile = v.object({
  email: v.optional(v.string()),
  email_verified: v.optional(v.unknown()),
  name: v.optional(v.string()),
});
export type Profile = v.InferOutput<typeof Profile>;

/** What a provider says of a person, by name. */
export type Claims = Readonly<Record<string, unknown>>;

export type Signed = Subject & {
  /** When the person last proved it to the provider, in seconds, if the provider says so. */
  authTimeS: number | undefined;
  /** Those of the token. */
  claims: Claims;
  /** What the provider says of the person beyond its token, asked for once; nothing, if it says no more. @throws its failure */
  readUserInfo: () => Promise<Claims>;
};
export type Exchange =
  | { kind: "right"; signed: Signed }
  | { kind: "denied" | "away" | "wrong"; reason: string };

type ExchangeOptions = { callback: string; query: string; state: ProviderState; now: () => number };

/** Verifies the provider's answer, or says what is wrong with it. Never throws. */
export async function exchange(
  provider: Provider,
  { callback, query, state, now }: ExchangeOptions,
): Promise<Exchange> {
  try {
    const configuration = await provider.configure();
    const tokens = await authorizationCodeGrant(configuration, new URL(`${callback}?${query}`), {
      expectedState: state.state,
      expectedNonce: state.nonce,
      pkceCodeVerifier: state.verifier,
      idTokenExpected: true,
    });
    provider.keepKeys(configuration);
    const claims = tokens.claims();
    if (claims === undefined) return { kind: "wrong", reason: "no id_token" };
    const reason = findClaimIssue(claims, { latestS: now() / 1000 + CLOCK_TOLERANCE_S });
    if (reason !== undefined) return { kind: "wrong", reason };
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

/** Why verified claims cannot be used; `undefined` if they can. */
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

/** What the provider says of the person: asked for where the token does not hold it. */
export async function readProfile({ claims, readUserInfo }: Signed): Promise<Profile> {
  const held = v.safeParse(Profile, claims);
  if (held.success && held.output.email !== undefined) return held.output;
  try {
    const info = v.safeParse(Profile, await readUserInfo());
    return info.success ? info.output : {};
  } catch {
    return {}; // without an address nobody is linked by it
  }
}

const AWAY = new Set(["OAUTH_TIMEOUT", "OAUTH_ABORT"]);

/** What failed, by the code that the library gives it. */
function toFailure(error: unknown): { kind: "denied" | "away" | "wrong"; reason: string } {
  if (error instanceof ProviderAway) return { kind: "away", reason: "away" };
  if (error instanceof AuthorizationResponseError)
    return { kind: "denied", reason: /^[a-z_]{1,60}$/.exec(error.error)?.[0] ?? "error" };
  if (error instanceof ResponseBodyError)
    return error.status >= 500
      ? { kind: "away", reason: "away" }
      : { kind: "wrong", reason: /^[a-z_]{1,60}$/.exec(error.error)?.[0] ?? "error" };
  if (!(error instanceof ClientError)) return { kind: "away", reason: "unreachable" };
  const { code = "unknown", cause } = error;
  const isFailing = cause instanceof Response && cause.status >= 500;
  return isFailing || AWAY.has(code)
    ? { kind: "away", reason: code }
    : { kind: "wrong", reason: code };
}
