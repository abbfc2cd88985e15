/** The settings of the identity room: hosts, the cookies' domain, how long a session lasts. @module */
import type { FactorRule } from "../accounts/sessions/mod.ts";
import type { VirtualHost } from "../http/mod.ts";
import { DAY_S } from "../std/duration.ts";
import type { ProviderSettings } from "./provider_settings.ts";

export type IdentitySettings = {
  /** The gateway's origin as browsers see it; unset if it does not matter. */
  publicUrl: string | undefined;
  /** The origin of the identity pages; unset: the gateway's. */
  identityUrl: string | undefined;
  /** The parent domain of all apps; unset: the cookie stays on its own host, and there is no single sign-on. */
  cookieDomain: string | undefined;
  /** After how many seconds without use a session ends. */
  sessionIdleS: number;
  /** After how many seconds it ends in any case. */
  sessionMaxS: number;
  /** Of whom a second factor is asked; unset: of whoever has a Console role, once there is a provider, or a factor. */
  requireSecondFactor: Exclude<FactorRule, "default"> | undefined;
  /** With whom people may sign in besides by a password. */
  providers: readonly ProviderSettings[];
  /** How long a provider may take for one answer. */
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

/** Which of the service's hosts a request is for, by the `Host` header alone: nothing that a caller forwards is believed. With
 * one origin for both, or none set, every host serves both. */
export function toVirtualHost(
  host: string | null,
  { identityUrl, publicUrl }: Pick<IdentitySettings, "identityUrl" | "publicUrl">,
): VirtualHost {
  if (identityUrl === undefined || identityUrl === publicUrl) return "both";
  return isHostOf(host, identityUrl) ? "identity" : "gateway";
}

/** Whether a host is reached by https, according to its public origin. */
export function isHttps(
  virtualHost: VirtualHost,
  { identityUrl, publicUrl }: Pick<IdentitySettings, "identityUrl" | "publicUrl">,
): boolean {
  const origin = virtualHost === "identity" ? identityUrl : (publicUrl ?? identityUrl);
  return origin?.startsWith("https:") === true;
}

/** Whether an `Origin` header is the pages' own. */
export function isOwnOrigin(
  request: Request,
  { identityUrl, publicUrl }: IdentitySettings,
): boolean {
  const origin = request.headers.get("origin");
  const own = identityUrl ?? publicUrl;
  if (origin === null || !URL.canParse(origin)) return false;
  if (own !== undefined) return origin === own;
  // Without a setting only the host can be compared: the proxy that terminates TLS hides the scheme.
  return new URL(origin).origin === origin && isHostOf(request.headers.get("host"), origin);
}

function isHostOf(host: string | null, origin: string): boolean {
  const url = new URL(origin);
  const given = host?.toLowerCase();
  const port = url.protocol === "https:" ? "443" : "80";
  return given === url.host || (url.port === "" && given === `${url.hostname}:${port}`);
}
