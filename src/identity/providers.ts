/**
 * The OpenID Connect providers with which people sign in. What a provider publishes about itself is fetched when it is
 * first needed and kept; one that is away or slow costs its own visitors a few seconds, and no one else anything.
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
import type { ProviderSettings } from "./provider_settings.ts";

/** How long what a provider publishes is used before it is fetched again. */
const KEEP_MS = HOUR_S * 1000;
/** The same for its keys; a token by a key that is not among them has them fetched at once. */
const KEEP_KEYS_S = 240;
/** The library fetches keys again for an unknown one only if they are older than this. */
const LEAST_KEY_AGE_S = 60;
/** How long a provider that is away is not asked again. */
const PAUSE_MS = 5000;
/** By how much a provider's clock may differ from ours. */
export const CLOCK_TOLERANCE_S = 60;

/** The provider does not answer, or not as what it is set up as. */
export class ProviderAway extends Error {}

export type Provider = {
  readonly settings: ProviderSettings;
  /** For one sign-in. @throws {ProviderAway} */
  readonly configure: () => Promise<Configuration>;
  /** Keeps the keys that a sign-in has fetched. */
  readonly keepKeys: (configuration: Configuration) => void;
};

export type Providers = {
  readonly list: readonly Provider[];
  readonly find: (name: string | undefined) => Provider | undefined;
};

export type ProviderDeps = {
  now: () => number;
  log: Log;
  /** How long a provider may take for one answer. */
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
        setJwksCache(configuration, { jwks: keys.jwks, uat: nowOfLibrary() - LEAST_KEY_AGE_S });
      return configuration;
    },
    keepKeys: (configuration) => {
      const fetched = getJwksCache(configuration);
      const isNew = fetched !== undefined && nowOfLibrary() - fetched.uat < LEAST_KEY_AGE_S;
      if (isNew) keys = { jwks: fetched.jwks, atS: toSeconds() };
    },
  };
}

/** The library goes by the machine's clock. */
function nowOfLibrary(): number {
  return Math.floor(Date.now() / 1000);
}

/** What the provider publishes, fetched once for all who wait for it. */
function makeMetadata(
  settings: ProviderSettings,
  deps: ProviderDeps,
): () => Promise<ServerMetadata> {
  const { now, log } = deps;
  let kept: { metadata: ServerMetadata; at: number } | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let under: Promise<ServerMetadata> | undefined;
  const fetchAnew = async () => {
    try {
      kept = { metadata: await discover(settings, deps), at: now() };
      return kept.metadata;
    } catch (error) {
      failedAt = now();
      const { stack: _, ...fields } = toLogFields(error);
      log("warn", "provider away", { during: `discovery of ${settings.name}`, ...fields });
      // What it published before is better than nothing: its tokens are verified in any case.
      if (kept !== undefined) return kept.metadata;
      throw new ProviderAway(settings.name, { cause: error });
    } finally {
      under = undefined;
    }
  };
  return async () => {
    const isPaused = now() - failedAt < PAUSE_MS;
    if (kept !== undefined && (isPaused || now() - kept.at < KEEP_MS)) return kept.metadata;
    if (isPaused) throw new ProviderAway(settings.name);
    under ??= fetchAnew();
    return await under;
  };
}

/** What the provider publishes about itself. @throws {Error} it does not answer, or not as what it is set up as */
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
  // Some providers publish one document for many organisations: whoever they let in is not ours.
  const published = configuration.serverMetadata();
  if (published.issuer !== settings.issuer)
    throw new Error(`It calls itself ${published.issuer}, not ${settings.issuer}`);
  for (const name of ["authorization_endpoint", "token_endpoint", "jwks_uri"] as const)
    if (!(published[name] ?? "").startsWith(isLocal ? "http" : "https:"))
      throw new Error(`It publishes no usable ${name}`);
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
  // Tokens come over TLS; their signatures are verified all the same.
  enableNonRepudiationChecks(configuration);
  if (isInsecure(settings)) allowInsecureRequests(configuration);
  return configuration;
}

/** A provider on one's own machine. */
function isInsecure({ issuer }: ProviderSettings): boolean {
  return issuer.startsWith("http:");
}

/** By the way that the provider says it accepts. */
function authenticateBy(secret: string): ClientAuth {
  const [byBasic, byPost] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const accepted = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return (accepted.includes("client_secret_basic") ? byBasic : byPost)(server, ...rest);
  };
}
