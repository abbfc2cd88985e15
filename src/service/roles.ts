/**
 * What a process of each role consists of: everything in one, or a gateway in front of separate services.
 *
 * In several processes only the gateway knows keys, limits and origins: it authenticates callers, and signs the result for
 * the service behind it. A key's secret therefore never passes the gateway, a key is looked up once, the data service's
 * login needs no access to keys, and the services accept nothing from anyone else.
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
import { noteFault } from "../observe.ts";
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

/** What a role must know about its surroundings. */
export type RoleOptions = UpstreamOptions & {
  keyPrefix: string;
  /** Maximum size of a list in bytes, give or take a row; default: {@linkcode LIST_BYTES}. */
  maxResponseBytes?: number;
  /** Bytes of answers to writes with an idempotency key, for each app; default: `IDEMPOTENCY_BYTES` of `data/idempotency.ts`. */
  idempotencyBytes?: number | undefined;
  /** Memory for pages that were answered; default: {@linkcode LIST_CACHE_BYTES}. */
  listCacheBytes?: number | undefined;
  /** Which previews are on; default: none. */
  previews?: readonly Preview[];
  /** Maximum number of rows that a query visits; default: {@linkcode MAX_VISITS}. */
  maxVisits?: number | undefined;
  /** Default: {@linkcode MAX_STREAMS}. */
  maxStreams?: MaxStreams;
  /** Default: {@linkcode PUSH_LIMITS}. */
  pushLimits?: PushLimits;
  /** Sessions, links and passwords are made with the first and verified with all. Required where people sign in. */
  identitySecrets?: readonly string[] | undefined;
  /** Default: {@linkcode makeHashing} at its full cost, which only tests replace. */
  hashing?: Hashing | undefined;
  /** The server that mails are given to, and from whom they are; unset: none are sent. */
  mail?: MailOptions | undefined;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies?: readonly string[];
};

/** What every role is built from. */
export type Parts = {
  options: RoleOptions;
  identity: IdentitySettings;
  db: Database;
  admin: Database;
  /** Of the login of the Console; unset: there is none. */
  consoleDb: Database | undefined;
  /** Of the login for identity; the same as `db` without such a login. */
  identityDb: Database;
  idempotencyRoom: IdempotencyRoom;
  /** Aborted when the process begins to stop: event streams end then. */
  draining: AbortSignal;
  checkReady: CheckReady;
  shared: Pick<FetchDeps, "guard" | "traffic" | "log" | "onAnswer" | "makeSpanId" | "now">;
};

export type BuiltRole = {
  fetch: (request: Request, peer: Peer) => Promise<Response>;
  watch: VersionWatch;
  /** Whether everything that this role needs is ready. */
  checkReady: CheckReady;
  /** What an app has declared, in a process that serves rows. */
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

/** It follows origins too, because they decide from where people may sign out. */
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
 * Executes the jobs on apps' rows that administrators store, at a version of the catalog that is new here: whatever stores a
 * job raises it. What failed is tried again at the next look, and so is what another process left.
 */
function makeRowsJobs({ db, shared: { guard, log } }: Parts): (version: number) => void {
  let seen: number | undefined;
  const retryLater = (error: unknown) => {
    seen = undefined;
    noteFault(log, "the deletion of rows")(error);
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

/** What faces callers: keys, limits and origins. */
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
    noteFault: noteFault(shared.log, "the limits"),
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

/** What a service behind a gateway has instead: it accepts what the gateway signed, and knows no keys. */
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
    previews = [],
    maxVisits = MAX_VISITS,
    maxStreams = MAX_STREAMS,
    pushLimits = PUSH_LIMITS,
  } = options;
  const { log } = shared;
  const listCache = makeListCache(listCacheBytes);
  const changeFeed = previews.includes("live")
    ? makeChangeFeed({ db, catalog, log, now: () => performance.now(), maxStreams })
    : undefined;
  draining.addEventListener("abort", () => changeFeed?.end(), { once: true });
  return {
    db,
    admin,
    catalog,
    makeId,
    maxResponseBytes,
    listCache,
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
