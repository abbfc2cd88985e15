/**
 * Failed sign-ins at a provider: who can correct each error code, and how operators do it. Never has text of the provider
 * other than its code.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AuthError
 *
 * @module
 */
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from "openid-client";
import { ProviderUnavailable } from "../providers.ts";

/** Failures by who can correct them: the person, the person later, and operators. */
export type Failure = {
  kind: "denied" | "again" | "failed" | "unavailable" | "settings" | "clock" | "wrong";
  reason: string;
};

type Remedy = (prefix: string) => string;
type Outcome = { kind: Failure["kind"]; remedy?: Remedy };

const CLOCK = () => "synchronize the clocks of this machine and of the provider";
const CLIENT: Remedy = (prefix) =>
  `check ${prefix}_CLIENT_ID and ${prefix}_CLIENT_SECRET, which can have expired`;
const REGISTRATION: Remedy = (prefix) =>
  `register the redirect URI and the code flow for ${prefix}_CLIENT_ID at the provider`;
const SCOPE: Remedy = (prefix) => `the provider does not offer a scope of ${prefix}_SCOPES`;
const FEATURE: Remedy = (prefix) =>
  `the provider expects a request that Rowhouse does not send: a plain code flow with PKCE must be enough for ${prefix}_CLIENT_ID`;
const AUTHENTICATION: Remedy = (prefix) =>
  `the provider cannot sign the person in as requested: check ${prefix}_PROMPT, and what it requires of ${prefix}_CLIENT_ID`;

/** How each code of a provider, of the library, and of the check of claims ends. */
const CODES: ReadonlyMap<string, Outcome> = new Map(
  Object.entries<Outcome>({
    access_denied: { kind: "denied" },
    // Not in a standard: LinkedIn and Apple.
    user_cancelled_login: { kind: "denied" },
    user_cancelled_authorize: { kind: "denied" },
    login_required: { kind: "again" },
    interaction_required: { kind: "again" },
    account_selection_required: { kind: "again" },
    consent_required: { kind: "again" },
    unmet_authentication_requirements: { kind: "settings", remedy: AUTHENTICATION },
    server_error: { kind: "unavailable" },
    temporarily_unavailable: { kind: "unavailable" },
    invalid_client: { kind: "settings", remedy: CLIENT },
    unauthorized_client: { kind: "settings", remedy: CLIENT },
    invalid_request: { kind: "settings", remedy: REGISTRATION },
    unsupported_response_type: { kind: "settings", remedy: REGISTRATION },
    unsupported_grant_type: { kind: "settings", remedy: REGISTRATION },
    invalid_scope: { kind: "settings", remedy: SCOPE },
    invalid_target: { kind: "settings", remedy: FEATURE },
    invalid_authorization_details: { kind: "settings", remedy: FEATURE },
    invalid_request_uri: { kind: "settings", remedy: FEATURE },
    invalid_request_object: { kind: "settings", remedy: FEATURE },
    request_not_supported: { kind: "settings", remedy: FEATURE },
    request_uri_not_supported: { kind: "settings", remedy: FEATURE },
    registration_not_supported: { kind: "settings", remedy: FEATURE },
    // The code is unknown to the provider, was used or expired, or belongs to another client or redirect URI.
    invalid_grant: { kind: "wrong" },
    OAUTH_TIMEOUT: { kind: "unavailable" },
    OAUTH_ABORT: { kind: "unavailable" },
    OAUTH_JWT_TIMESTAMP_CHECK_FAILED: { kind: "clock", remedy: CLOCK },
    "issued in the future": { kind: "clock", remedy: CLOCK },
    "auth_time in the future": { kind: "clock", remedy: CLOCK },
  }),
);

/** How operators correct a failure; `undefined` if they cannot. `prefix` starts the names of the provider's settings. */
export function findRemedy(reason: string, prefix: string): string | undefined {
  return CODES.get(reason)?.remedy?.(prefix);
}

/** The kind of failure and its reason, from the provider's or the library's error code. */
export function toFailure(error: unknown): Failure {
  if (error instanceof ProviderUnavailable) return { kind: "unavailable", reason: "unavailable" };
  if (error instanceof AuthorizationResponseError) return toCodeFailure(error.error, "failed");
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
  return { kind: isFailing ? "unavailable" : toKind(code, "wrong"), reason: code };
}

/** A verified token whose claims are unusable. */
export function toClaimFailure(reason: string): Failure {
  return { kind: toKind(reason, "wrong"), reason };
}

function toCodeFailure(error: string, otherwise: Failure["kind"]): Failure {
  const reason = /^[a-z_]{1,60}$/.exec(error)?.[0] ?? "error";
  return { kind: toKind(reason, otherwise), reason };
}

function toKind(code: string, otherwise: Failure["kind"]): Failure["kind"] {
  return CODES.get(code)?.kind ?? otherwise;
}
