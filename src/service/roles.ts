/**
 * Builds the process of each role: all parts in one, or a gateway in front of separate services.
 *
 * In a split service only the gateway knows keys, limits and origins: it authenticates callers, and signs the result for the
 * service behind it. So a key's secret never leaves the gateway, a key is looked up once, the data service's login needs no
 * access to keys, and the services accept requests only from the gateway.
 *
 * @module
 */

import { makeLimits, makeOrigins, type Origins, runRowsJobs } from "../accounts/apps/mod.ts";
import { makeIdentitySecrets } from "../accounts/secrets/mod.ts";
import { type Catalog, makeCatalog } from "../catalog/mod.ts";
import { makeRowsKeys } from "../console/mod.ts";
import {
  type IdempotencyRoom,
  LIST_BYTES,
  LIST_CACHE_BYTES,
  MAX_STREAMS,
  MAX_VISITS,
  type MaxStreams,
  makeChangeFeed,
  makeListCache,
} from "../data/mod.ts";
import {
  coalesce,
  type Database,
  type Versions,
  type VersionWatch,
  watchVersions,
} from "../db/mod.ts";
import {
  type Audience,
  makeAuthenticate,
  makeLease,
  makeOpenReceive,
  makeReadAddress,
  makeSharedBuckets,
  makeSignedReceive,
  makeTakeQuota,
  makeUseNonce,
  makeVerify,
  type Peer,
} from "../gateway/mod.ts";
import {
  type Hashing,
  type IdentitySettings,
  isHttps,
  makeHashing,
  makeProviders,
  toVirtualHost,
} from "../identity/mod.ts";
import { logError } from "../observe.ts";
import { makeDocuments } from "../openapi/mod.ts";
import type { Preview } from "../preview.ts";
import { makePlanning, PUSH_LIMITS, type PushLimits } from "../push/mod.ts";
import type { Role } from "../role.ts";
import { systemRandomBytes } from "../std/random_text.ts";
import { type FetchDeps, makeFetch } from "./fetch.ts";
import type { CheckReady } from "./health.ts";
import type { MailOptions } from "./mailing.ts";
import type { FindTable } from "./rejections.ts";
import {
  ALL_TABLES,
  DATA_TABLES,
  type DataServiceDeps,
  IDENTITY_TABLES,
  type IdentityServiceDeps,
  MAX_REQUEST_BYTES,
  routes,
  toForwardedTables,
} from "./routes.ts";
import {
  checkForwards,
  makeCallGateway,
  makeForwards,
  readSecrets,
  type UpstreamOptions,
} from "./upstreams.ts";

/** Options of every role. */
export type RoleOptions = UpstreamOptions & {
  keyPrefix: string;
  /** Max size of a list in bytes, exceeded by at most one row; defaults to {@linkcode LIST_BYTES}. */
  maxResponseBytes?: number;
  /** Max bytes of stored responses to writes with an idempotency key, per app; defaults to `IDEMPOTENCY_BYTES` of `data/idempotency.ts`. */
  idempotencyBytes?: number | undefined;
  /** Whether creates are grouped; defaults to true. */
  groupsCreates?: boolean | undefined;
  /** Size of the cache for pages of lists; defaults to {@linkcode LIST_CACHE_BYTES}. */
  listCacheBytes?: number | undefined;
  /** Enabled previews; defaults to none. */
  previews?: readonly Preview[];
  /** Max rows that a query visits; defaults to {@linkcode MAX_VISITS}. */
  maxVisits?: number | undefined;
  /** Defaults to {@linkcode MAX_STREAMS}. */
  maxStreams?: MaxStreams;
  /** Defaults to {@linkcode PUSH_LIMITS}. */
  pushLimits?: PushLimits;
  /** The first creates sessions, links and passwords; all verify. Required in processes that serve identity. */
  identitySecrets?: readonly string[] | undefined;
  /** Defaults to {@linkcode makeHashing} at full cost; only tests replace it. */
  hashing?: Hashing | undefined;
  /** The mail server and the sender of mails; unset: no mail is sent. */
  mail?: MailOptions | undefined;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies?: readonly string[];
};

export type Parts = {
  options: RoleOptions;
  identity: IdentitySettings;
  db: Database;
  admin: Database;
  /** Connections of the Console's login; unset: no Console. */
  consoleDb: Database | undefined;
  /** Connections of the login for identity; the same as `db` without such a login. */
  identityDb: Database;
  idempotencyRoom: IdempotencyRoom;
  /** Aborted at shutdown, to end event streams. */
  draining: AbortSignal;
  checkReady: CheckReady;
  shared: Pick<FetchDeps, "guard" | "traffic" | "log" | "onAnswer" | "makeSpanId" | "now">;
};

export type BuiltRole = {
  fetch: (request: Request, peer: Peer) => Promise<Response>;
  watch: VersionWatch;
  checkReady: CheckReady;
  /** Finds an app's declared table; set in a process that serves rows. */
  findTable?: FindTable;
};

export const ROLE_BUILDERS: Readonly<Record<Role, (parts: Parts) => BuiltRole>> = {
  all: buildAll,
  gateway: buildGateway,
  data: buildData,
  identity: buildIdentity,
};

function buildAll(parts: Parts): BuiltRole {
  const executeJobs = makeRowsJobs(parts);
  const watch = follow(parts, async (versions) => {
    await Promise.all([catalog.follow(versions.catalog), callers.refresh(versions.apps)]);
    executeJobs(versions.catalog);
  });
  const catalog = makeCatalog({ db: parts.db, look: watch.read });
  const callers = makeCallers(parts, watch);
  const callApi = (request: Request) => fetch(request, { requestIP: () => null });
  const identityDeps = { ...makeIdentityDeps(parts, callers.origins), callApi };
  const deps = { ...callers.deps, ...makeDataDeps(parts, catalog), identityDeps };
  const fetch: BuiltRole["fetch"] = makeFetch(deps, ALL_TABLES);
  return { fetch, watch, checkReady: parts.checkReady, findTable: catalog.find };
}

function buildGateway(parts: Parts): BuiltRole {
  const watch = follow(parts, ({ apps }) => callers.refresh(apps));
  const callers = makeCallers(parts, watch);
  const { options, shared, draining } = parts;
  const forwards = makeForwards(options, { now: shared.now, draining });
  const checkReady = async () => {
    await parts.checkReady();
    await checkForwards(forwards, makeId);
  };
  const deps = { ...callers.deps, checkReady };
  return { fetch: makeFetch(deps, toForwardedTables(forwards)), watch, checkReady };
}

function buildData(parts: Parts): BuiltRole {
  const executeJobs = makeRowsJobs(parts);
  const watch = follow(parts, async (versions) => {
    await catalog.follow(versions.catalog);
    executeJobs(versions.catalog);
  });
  const catalog = makeCatalog({ db: parts.db, look: watch.read });
  const deps = { ...makeSignedDeps(parts, "data"), ...makeDataDeps(parts, catalog) };
  const fetch = makeFetch(deps, DATA_TABLES);
  return { fetch, watch, checkReady: parts.checkReady, findTable: catalog.find };
}

/** Follows origins too, because sign-out accepts only registered origins. */
function buildIdentity(parts: Parts): BuiltRole {
  const watch = follow(parts, (versions) => origins.refresh(versions.apps));
  const origins = makeOrigins(parts.db);
  const deps = { ...makeSignedDeps(parts, "identity"), ...makeIdentityDeps(parts, origins) };
  return { fetch: makeFetch(deps, IDENTITY_TABLES), watch, checkReady: parts.checkReady };
}

function follow(
  { db, shared: { now, log } }: Parts,
  onVersions: (versions: Versions) => Promise<void>,
): VersionWatch {
  return watchVersions({ db, now, log }, onVersions);
}

/**
 * Runs administrators' stored jobs on apps' rows when the catalog's version changes: storing a job raises the version. Failed
 * jobs, and jobs of killed processes, are retried at the next check.
 */
function makeRowsJobs({ db, shared: { guard, log } }: Parts): (version: number) => void {
  let seen: number | undefined;
  const retryLater = (error: unknown) => {
    seen = undefined;
    logError(log, "the deletion of rows")(error);
  };
  const run = coalesce(async () => {
    await guard.check();
    for (const error of await runRowsJobs(db)) retryLater(error);
  });
  return (version) => {
    if (version === seen) return;
    seen = version;
    run().catch(retryLater);
  };
}

type CallerParts = {
  deps: FetchDeps;
  origins: Origins;
  refresh: (appsVersion: number) => Promise<void>;
};

/** Authentication, limits and origins for callers. */
function makeCallers({ options, identity, db, shared }: Parts, watch: VersionWatch): CallerParts {
  const { now } = shared;
  const origins = makeOrigins(db);
  const limits = makeLimits(db);
  const receive = makeOpenReceive({
    makeRequestId: makeId,
    readAddress: makeReadAddress(options.trustedProxies ?? []),
    readVirtualHost: (host) => toVirtualHost(host, identity),
  });
  const buckets = makeSharedBuckets({
    lease: makeLease(db, crypto.randomUUID()),
    logError: logError(shared.log, "the limits"),
  });
  const { keyPrefix } = options;
  const authenticate = makeAuthenticate({ db, watch, now, keyPrefix, buckets });
  const takeQuota = makeTakeQuota({ limits, buckets });
  return {
    deps: {
      ...shared,
      receive,
      callers: {
        authenticate,
        takeQuota,
        origins,
        isHttps: (host) => isHttps(host, identity),
        identityUrl: identity.identityUrl,
      },
    },
    origins,
    refresh: async (version) => {
      await Promise.all([origins.refresh(version), limits.refresh(version)]);
    },
  };
}

/** A service behind a gateway accepts only requests that the gateway signed, and knows no keys. */
function makeSignedDeps({ options, db, shared }: Parts, audience: Audience): FetchDeps {
  const verify = makeVerify({ audience, secrets: readSecrets(options, audience), now: shared.now });
  return {
    ...shared,
    receive: makeSignedReceive({
      verify,
      useNonce: makeUseNonce(db),
      log: shared.log,
      makeRequestId: makeId,
      maxBytes: MAX_REQUEST_BYTES,
    }),
    callers: undefined,
  };
}

function makeDataDeps(parts: Parts, catalog: Catalog): DataServiceDeps {
  const { db, admin, options, idempotencyRoom, draining, checkReady, shared } = parts;
  const {
    maxResponseBytes = LIST_BYTES,
    listCacheBytes = LIST_CACHE_BYTES,
    groupsCreates = true,
    previews = [],
    maxVisits = MAX_VISITS,
    maxStreams = MAX_STREAMS,
    pushLimits = PUSH_LIMITS,
  } = options;
  const { log, guard } = shared;
  const listCache = makeListCache(listCacheBytes);
  const changeFeed = previews.includes("live")
    ? makeChangeFeed({
        ...{ db, catalog, log, maxStreams },
        now: () => performance.now(),
        checkServing: guard.check,
      })
    : undefined;
  draining.addEventListener("abort", () => changeFeed?.end(), { once: true });
  return {
    db,
    admin,
    catalog,
    makeId,
    maxResponseBytes,
    listCache,
    groupsCreates,
    previews,
    maxVisits,
    changeFeed,
    idempotencyRoom,
    pushLimits,
    planning: makePlanning(),
    documents: makeDocuments(routes, previews),
    checkReady,
    log,
  };
}

function makeIdentityDeps(
  { identityDb, consoleDb, identity, checkReady, options, shared }: Parts,
  origins: Origins,
): IdentityServiceDeps {
  return {
    db: identityDb,
    consoleDb,
    hasConsole: consoleDb !== undefined,
    hasMail:
      options.mail !== undefined && (identity.identityUrl ?? identity.publicUrl) !== undefined,
    keyPrefix: options.keyPrefix,
    makeId,
    log: shared.log,
    now: shared.now,
    identity,
    origins,
    identitySecrets: makeIdentitySecrets(options.identitySecrets ?? []),
    hashing: options.hashing ?? makeHashing(),
    providers: makeProviders(identity.providers, {
      now: shared.now,
      log: shared.log,
      timeoutS: identity.providerTimeoutS,
    }),
    randomBytes: systemRandomBytes,
    checkReady,
    callApi: makeCallGateway(options, identity.publicUrl),
    rowsKeys: makeRowsKeys(),
    hasFilters: options.previews?.includes("filters") ?? false,
  };
}

function makeId(): string {
  return Bun.randomUUIDv7();
}
