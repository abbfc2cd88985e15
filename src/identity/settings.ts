/** The settings of the identity module: hosts, cookie domain, session lifetime. @module */

import { isIP } from "node:net";
import type { VirtualHost } from "../http/mod.ts";
import type { FactorRule } from "../records/sessions/mod.ts";
import { DAY_S } from "../std/duration.ts";

export type IdentitySettings = {
  /** The gateway's public origin. */
  publicUrl: string | undefined;
  /** The origin of the identity pages; defaults to the gateway's origin. */
  identityUrl: string | undefined;
  /** The parent domain of all apps. Without it the cookie is limited to its own host, without single sign-on. */
  cookieDomain: string | undefined;
  sessionIdleS: number;
  sessionMaxS: number;
  /** The people who need a second factor. Unset: people with a Console role, if a provider is set up or any factor exists. */
  requireSecondFactor: Exclude<FactorRule, "default"> | undefined;
  /** OpenID Connect providers for sign-in. */
  providers: readonly ProviderSettings[];
  providerTimeoutS: number;
};

export const DEFAULT_SETTINGS: IdentitySettings = {
  publicUrl: undefined,
  identityUrl: undefined,
  cookieDomain: undefined,
  sessionIdleS: DAY_S,
  sessionMaxS: 7 * DAY_S,
  requireSecondFactor: undefined,
  providers: [],
  providerTimeoutS: 5,
};

/**
 * The virtual host of a request, from the `Host` header only: forwarded headers are not trusted. With one origin for both, or
 * without origins, every host serves both.
 */
export function toVirtualHost(
  host: string | null,
  { identityUrl, publicUrl }: Pick<IdentitySettings, "identityUrl" | "publicUrl">,
): VirtualHost {
  if (identityUrl === undefined || identityUrl === publicUrl) return "both";
  return isHostOf(host, identityUrl) ? "identity" : "gateway";
}

/** Whether the public origin of a host uses https. */
export function isHttps(
  virtualHost: VirtualHost,
  { identityUrl, publicUrl }: Pick<IdentitySettings, "identityUrl" | "publicUrl">,
): boolean {
  const origin = virtualHost === "identity" ? identityUrl : (publicUrl ?? identityUrl);
  return origin?.startsWith("https:") === true;
}

/** Whether an `Origin` header is the origin of the pages. */
export function isOwnOrigin(request: Request, settings: IdentitySettings): boolean {
  return isOrigin(request.headers.get("origin"), request, settings);
}

/**
 * Whether a link of these pages led here, or the person typed the address or opened a bookmark. Browsers send `Sec-Fetch-Site`
 * only to https and to loopback addresses; the pages' `Referrer-Policy` sends `Referer` to themselves.
 */
export function isFromOwnPage(request: Request, settings: IdentitySettings): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" || site === "none";
  const page = request.headers.get("referer");
  const origin = page !== null && URL.canParse(page) ? new URL(page).origin : null;
  return isOrigin(origin, request, settings);
}

function isOrigin(
  origin: string | null,
  request: Request,
  { identityUrl, publicUrl }: IdentitySettings,
): boolean {
  const own = identityUrl ?? publicUrl;
  if (origin === null || !URL.canParse(origin)) return false;
  if (own !== undefined) return origin === own;
  // Without a setting compare only the host: the proxy that terminates TLS hides the scheme.
  return new URL(origin).origin === origin && isHostOf(request.headers.get("host"), origin);
}

function isHostOf(host: string | null, origin: string): boolean {
  const url = new URL(origin);
  const given = host?.toLowerCase();
  const port = url.protocol === "https:" ? "443" : "80";
  return given === url.host || (url.port === "" && given === `${url.hostname}:${port}`);
}

// The WebAuthn relying party: the host of the pages.

export type RelyingParty = {
  /** The exact origin of the pages. */
  origin: string;
  /** The host without the port. Browsers bind passkeys to it. */
  id: string;
};

/** `undefined` where browsers do not support passkeys: on an IP address, and over http except on localhost. */
export function findRelyingParty({
  identityUrl,
  publicUrl,
}: Pick<IdentitySettings, "identityUrl" | "publicUrl">): RelyingParty | undefined {
  const own = identityUrl ?? publicUrl;
  if (own === undefined) return undefined;
  const { origin, protocol, hostname } = new URL(own);
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  const isAddress = isIP(hostname) !== 0 || hostname.startsWith("[");
  return isAddress || (protocol !== "https:" && !isLocal) ? undefined : { origin, id: hostname };
}

/** A claim value that grants a role on an app. */
export type RoleRule = {
  /** The path to the claim. */
  claim: readonly string[];
  value: string;
  slug: string;
  role: string;
};

export type ProviderSettings = {
  /** Used in URLs and in the audit log, such as `google`. */
  name: string;
  /** Exactly as the provider reports it. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The label of the button after "Sign in with". */
  label: string;
  /** Domains of email addresses for which the provider is trusted. */
  trustedDomains: readonly string[];
  /** Whether people of these domains get an account without an invitation. */
  creates: boolean;
  /** The provider's question at each sign-in; `undefined` if it decides. */
  prompt?: "select_account" | "login" | undefined;
  /** Additional scopes. */
  scopes: readonly string[];
  /** The first matching rule of an app grants its role. */
  roles: readonly RoleRule[];
};
