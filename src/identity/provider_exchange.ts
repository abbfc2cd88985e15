/**
 * Exchanges the provider's code for a token and verifies its issuer, audience, signature, times and nonce. A failure gets a
 * reason for operators. The provider's response is not stored.
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
  WWWAuthenticateChallengeError,
} from "openid-client";
import * as v from "valibot";
import type { Subject } from "../accounts/sessions/mod.ts";
import type { ProviderState } from "./provider_state.ts";
import { CLOCK_TOLERANCE_S, type Provider, ProviderUnavailable } from "./providers.ts";

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
export type Exchange = { kind: "right"; signed: Signed } | Failure;

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
    if (claims === undefined) return { kind: "wrong", reason: "no id_token" };
    const reason = findClaimIssue(claims, { latestS: now() / 1000 + CLOCK_TOLERANCE_S });
    if (reason !== undefined)
      return { kind: reason.endsWith("in the future") ? "clock" : "wrong", reason };
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

/** Failures by who can cure them: the person, the person later, and operators. */
type Failure = {
  kind: "denied" | "again" | "unavailable" | "settings" | "clock" | "wrong";
  reason: string;
};

/** The kinds of error codes of a provider. @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1 */
const KINDS: Readonly<Record<string, Failure["kind"]>> = {
  access_denied: "denied",
  login_required: "again",
  interaction_required: "again",
  account_selection_required: "again",
  consent_required: "again",
  server_error: "unavailable",
  temporarily_unavailable: "unavailable",
  invalid_client: "settings",
  unauthorized_client: "settings",
  invalid_request: "settings",
  invalid_scope: "settings",
  unsupported_response_type: "settings",
  unsupported_grant_type: "settings",
  OAUTH_TIMEOUT: "unavailable",
  OAUTH_ABORT: "unavailable",
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: "clock",
};

/** The kind of failure and its reason, from the provider's or the library's error code. */
function toFailure(error: unknown): Failure {
  if (error instanceof ProviderUnavailable) return { kind: "unavailable", reason: "unavailable" };
  if (error instanceof AuthorizationResponseError) return toCodeFailure(error.error, "denied");
  // RFC 6749 defines 401 for a wrong client, also in a response without a code.
  if (error instanceof WWWAuthenticateChallengeError && error.status === 401)
    return { kind: "settings", reason: "invalid_client" };
  if (error instanceof ResponseBodyError)
    return error.status >= 500
      ? { kind: "unavailable", reason: "unavailable" }
      : toCodeFailure(error.error, "wrong");
  if (!(error instanceof ClientError)) return { kind: "unavailable", reason: "unreachable" };
  const { code = "unknown", cause } = error;
  const isFailing = cause instanceof Response && cause.status >= 500;
  return { kind: isFailing ? "unavailable" : (KINDS[code] ?? "wrong"), reason: code };
}

function toCodeFailure(error: string, kind: Failure["kind"]): Failure {
  const reason = /^[a-z_]{1,60}$/.exec(error)?.[0] ?? "error";
  return { kind: (Object.hasOwn(KINDS, reason) ? KINDS[reason] : undefined) ?? kind, reason };
}
