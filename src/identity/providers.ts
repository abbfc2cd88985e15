/**
 * OpenID Connect providers. A provider's metadata is fetched on first use and cached. An unavailable or slow provider delays
 * only the sign-ins with that provider.
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html
 *
 * @module
 */
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  clockTolerance,
  discovery,
  type ExportedJWKSCache,
  enableNonRepudiationChecks,
  getJwksCache,
  type ServerMetadata,
  setJwksCache,
} from "openid-client";
import { type Log, toLogFields } from "../observe.ts";
import { HOUR_S } from "../std/duration.ts";
import type { ProviderSettings } from "./settings.ts";

/** Cache lifetime of a provider's metadata. */
const KEEP_MS = HOUR_S * 1000;
/** Cache lifetime of a provider's keys. A token with an unknown key fetches them immediately. */
const KEEP_KEYS_S = 240;
/** The library refetches keys for an unknown key only if the cached keys are older than this. */
const MIN_KEY_AGE_S = 60;
/** Delay before an unavailable provider is tried again. */
const PAUSE_MS = 5000;
/** Max difference between a provider's clock and ours. */
export const CLOCK_TOLERANCE_S = 60;

/** The provider is unavailable, or its metadata does not match the settings. */
export class ProviderUnavailable extends Error {}

export type Provider = {
  readonly settings: ProviderSettings;
  /** The library's configuration for one sign-in. @throws {ProviderUnavailable} */
  readonly configure: () => Promise<Configuration>;
  /** Caches the keys that a sign-in has fetched. */
  readonly keepKeys: (configuration: Configuration) => void;
};

export type Providers = {
  readonly list: readonly Provider[];
  readonly find: (name: string | undefined) => Provider | undefined;
};

type ProviderDeps = {
  now: () => number;
  log: Log;
  /** Timeout of one request to a provider. */
  timeoutS: number;
};

export function makeProviders(
  settings: readonly ProviderSettings[],
  deps: ProviderDeps,
): Providers {
  const list = settings.map((setting) => makeProvider(setting, deps));
  return { list, find: (name) => list.find((provider) => provider.settings.name === name) };
}

function makeProvider(settings: ProviderSettings, deps: ProviderDeps): Provider {
  const readMetadata = makeMetadata(settings, deps);
  const toSeconds = () => Math.floor(deps.now() / 1000);
  let keys: { jwks: ExportedJWKSCache["jwks"]; atS: number } | undefined;
  return {
    settings,
    configure: async () => {
      const configuration = toConfiguration(settings, await readMetadata(), deps);
      if (keys !== undefined && toSeconds() - keys.atS < KEEP_KEYS_S)
        setJwksCache(configuration, { jwks: keys.jwks, uat: nowOfLibrary() - MIN_KEY_AGE_S });
      return configuration;
    },
    keepKeys: (configuration) => {
      const fetched = getJwksCache(configuration);
      const isNew = fetched !== undefined && nowOfLibrary() - fetched.uat < MIN_KEY_AGE_S;
      if (isNew) keys = { jwks: fetched.jwks, atS: toSeconds() };
    },
  };
}

/** The library uses the machine's clock. */
function nowOfLibrary(): number {
  return Math.floor(Date.now() / 1000);
}

/** The provider's metadata; concurrent callers share one request. */
function makeMetadata(
  settings: ProviderSettings,
  deps: ProviderDeps,
): () => Promise<ServerMetadata> {
  const { now, log } = deps;
  let stored: { metadata: ServerMetadata; at: number } | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let pending: Promise<ServerMetadata> | undefined;
  const refetch = async () => {
    try {
      stored = { metadata: await discover(settings, deps), at: now() };
      return stored.metadata;
    } catch (error) {
      failedAt = now();
      const { stack: _, ...fields } = toLogFields(error);
      log("warn", "provider unavailable", { during: `discovery of ${settings.name}`, ...fields });
      // Use the old metadata if the provider is unavailable: tokens are verified in any case.
      if (stored !== undefined) return stored.metadata;
      throw new ProviderUnavailable(settings.name, { cause: error });
    } finally {
      pending = undefined;
    }
  };
  return async () => {
    const isPaused = now() - failedAt < PAUSE_MS;
    if (stored !== undefined && (isPaused || now() - stored.at < KEEP_MS)) return stored.metadata;
    if (isPaused) throw new ProviderUnavailable(settings.name);
    pending ??= refetch();
    return await pending;
  };
}

/** The provider's metadata. @throws {Error} the provider is unavailable, or its metadata does not match the settings */
export async function discover(
  settings: ProviderSettings,
  { timeoutS }: Pick<ProviderDeps, "timeoutS">,
): Promise<ServerMetadata> {
  const isLocal = isInsecure(settings);
  const configuration = await discovery(
    new URL(settings.issuer),
    settings.clientId,
    undefined,
    undefined,
    { timeout: timeoutS, execute: isLocal ? [allowInsecureRequests] : [] },
  );
  // Some providers publish one document for many organizations, and would sign in people of all of them.
  const published = configuration.serverMetadata();
  if (published.issuer !== settings.issuer)
    throw new Error(`The issuer is ${published.issuer}, expected ${settings.issuer}`);
  for (const name of ["authorization_endpoint", "token_endpoint", "jwks_uri"] as const)
    if (!(published[name] ?? "").startsWith(isLocal ? "http" : "https:"))
      throw new Error(`The metadata has no usable ${name}`);
  return published;
}

function toConfiguration(
  settings: ProviderSettings,
  metadata: ServerMetadata,
  { timeoutS }: ProviderDeps,
): Configuration {
  const configuration = new Configuration(
    metadata,
    settings.clientId,
    { client_secret: settings.clientSecret, [clockTolerance]: CLOCK_TOLERANCE_S },
    authenticateBy(settings.clientSecret),
  );
  configuration.timeout = timeoutS;
  // Verify signatures even though tokens arrive over TLS.
  enableNonRepudiationChecks(configuration);
  if (isInsecure(settings)) allowInsecureRequests(configuration);
  return configuration;
}

/** Whether the provider runs on this machine over http. */
function isInsecure({ issuer }: ProviderSettings): boolean {
  return issuer.startsWith("http:");
}

/** Client authentication with a method that the provider supports. */
function authenticateBy(secret: string): ClientAuth {
  const [byBasic, byPost] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const accepted = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return (accepted.includes("client_secret_basic") ? byBasic : byPost)(server, ...rest);
  };
}
