/** The dependencies of routes, by what a process serves: callers, rows or identity. @module */

import type { FindSchemaFile } from "../console/mod.ts";
import { makeRowsKeys } from "../console/mod.ts";
import {
  type IdempotencyCapacity,
  LIST_CACHE_BYTES,
  makeChangeFeed,
  makeListCache,
  makeUnindexed,
  type UnindexedLimits,
} from "../data/mod.ts";
import { type Database, makeLease, makeSharedBuckets, type VersionWatch } from "../db/mod.ts";
import {
  type Audience,
  makeAuthenticate,
  makeOpenReceive,
  makeReadAddress,
  makeSignedReceive,
  makeSpendQuota,
  makeUseNonce,
  makeVerify,
} from "../gateway/mod.ts";
import { type MaxStreams, toWallBytes } from "../http/mod.ts";
import {
  type Hashing,
  type IdentitySettings,
  isHttps,
  makeHashing,
  makeProviders,
  toVirtualHost,
} from "../identity/mod.ts";
import type { SetLimits } from "../limit_setting.ts";
import { logError } from "../observe.ts";
import { makeDocuments, makeGuideSearch } from "../openapi/mod.ts";
import type { Preview } from "../preview.ts";
import { makeLimits, makeOrigins, type Origins } from "../records/apps/mod.ts";
import { makeIdentitySecrets } from "../records/secrets/mod.ts";
import { MAX_COUNTED } from "../std/limits.ts";
import { systemRandomBytes } from "../std/random_text.ts";
import type { Catalog } from "../tables/catalog/mod.ts";
import { makePlanning, PUSH_LIMITS, type PushLimits, workInThread } from "../tables/mod.ts";
import type { DatabasesOptions } from "./databases.ts";
import type { FetchDeps } from "./fetch.ts";
import type { CheckReady } from "./health.ts";
import type { MailOptions } from "./mailing.ts";
import {
  type DataServiceDeps,
  described,
  type IdentityServiceDeps,
  isPage,
  isRoute,
} from "./routes.ts";
import { makeCallGateway, readSecrets, type Streams, type UpstreamOptions } from "./upstreams.ts";

export type RoleOptions = UpstreamOptions & {
  keyPrefix: string;
  /** Whether creates are grouped; defaults to true. */
  groupsCreates?: boolean | undefined;
  /** Size of the cache for pages of lists; defaults to {@linkcode LIST_CACHE_BYTES}. */
  listCacheBytes?: number | undefined;
  /** The schema files that the Console can extend: only in `rowhouse dev`. */
  findSchemaFile?: FindSchemaFile;
  /** Enabled previews; defaults to none. */
  previews?: readonly Preview[];
  /** The most rows that a count has; defaults to {@linkcode MAX_COUNTED}. */
  maxCounted?: number | undefined;
  /** Limits of queries that no index serves. */
  unindexedLimits?: Partial<UnindexedLimits>;
  /** Defaults to {@linkcode MAX_STREAMS}. */
  maxStreams?: Partial<MaxStreams>;
  /** Defaults to {@linkcode PUSH_LIMITS}. */
  pushLimits?: PushLimits;
  /** The first creates sessions, links and passwords; all verify. Required in processes that serve identity. */
  identitySecrets?: readonly string[] | undefined;
  /** Defaults to {@linkcode makeHashing} at full cost; only tests replace it. */
  hashing?: Hashing | undefined;
  /** The mail server and the sender of emails; unset: no email is sent. */
  mail?: MailOptions | undefined;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies?: readonly string[];
};

export type Parts = {
  options: RoleOptions & Pick<DatabasesOptions, "connections">;
  limits: SetLimits;
  identity: IdentitySettings;
  db: Database;
  admin: Database;
  /** Connections of the Console's login; unset: no Console. */
  consoleDb: Database | undefined;
  /** Connections of the login for identity; the same as `db` without such a login. */
  identityDb: Database;
  idempotencyCapacity: IdempotencyCapacity;
  /** The count and the memory of the event streams of this process. */
  streams: Streams;
  /** Aborted at shutdown, to end event streams. */
  draining: AbortSignal;
  checkReady: CheckReady;
  shared: Pick<FetchDeps, "guard" | "traffic" | "log" | "onResponse" | "makeSpanId" | "now">;
};

type CallerParts = {
  deps: FetchDeps;
  origins: Origins;
  refresh: (appsVersion: number) => Promise<void>;
};

/** Authentication, limits and origins for callers. */
export function makeCallers(
  { options, limits: { personPerMinute }, identity, db, shared }: Parts,
  watch: VersionWatch,
): CallerParts {
  const { now } = shared;
  const origins = makeOrigins(db);
  const limits = makeLimits(db);
  const receive = makeOpenReceive({
    makeRequestId: makeId,
    readAddress: makeReadAddress(
      options.trustedProxies ?? [],
      once((message) => shared.log("warn", "proxy", { message })),
    ),
    readVirtualHost: (host) => toVirtualHost(host, identity),
  });
  const buckets = makeSharedBuckets({
    lease: makeLease(db, crypto.randomUUID()),
    logError: logError(shared.log, "the limits"),
  });
  const { keyPrefix } = options;
  const authenticate = makeAuthenticate({ db, watch, now, keyPrefix, buckets });
  const spendQuota = makeSpendQuota({ limits, buckets, personPerMinute });
  return {
    deps: {
      ...shared,
      receive,
      callers: {
        authenticate,
        spendQuota,
        origins,
        isHttps: (host) => isHttps(host, identity),
        identityUrl: identity.identityUrl,
      },
    },
    origins,
    refresh: async (version) => {
      await origins.refresh(version);
      await limits.refresh(version);
    },
  };
}

/** The first message of each text. */
function once(warn: (message: string) => void): (message: string) => void {
  const warned = new Set<string>();
  return (message) => {
    if (warned.has(message)) return;
    warned.add(message);
    warn(message);
  };
}

/** A service behind a gateway accepts only requests that the gateway signed, and knows no keys. */
export function makeSignedDeps(
  { options, limits, db, shared }: Parts,
  audience: Audience,
): FetchDeps {
  const verify = makeVerify({ audience, secrets: readSecrets(options, audience), now: shared.now });
  return {
    ...shared,
    receive: makeSignedReceive({
      verify,
      useNonce: makeUseNonce(db),
      log: shared.log,
      makeRequestId: makeId,
      maxBytes: toWallBytes(limits.maxResponseBytes, limits.maxBatchBytes),
    }),
    callers: undefined,
  };
}

export function makeDataDeps(parts: Parts, catalog: Catalog): DataServiceDeps {
  const { db, admin, options, limits, idempotencyCapacity, streams, draining, checkReady, shared } =
    parts;
  const {
    listCacheBytes = LIST_CACHE_BYTES,
    groupsCreates = true,
    previews = [],
    maxCounted = MAX_COUNTED,
    pushLimits = { ...PUSH_LIMITS, pushesPerHour: limits.pushesPerHour },
  } = options;
  const { log, guard } = shared;
  const listCache = makeListCache(listCacheBytes);
  const buckets = makeSharedBuckets({
    lease: makeLease(db, crypto.randomUUID(), "lease_unindexed"),
    logError: logError(log, "the limits of queries that no index serves"),
  });
  const changeFeed = previews.includes("live")
    ? makeChangeFeed({
        ...{ db, catalog, log, ...streams },
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
    ...limits,
    listCache,
    groupsCreates,
    previews,
    maxCounted,
    unindexed: makeUnindexed(
      { connections: options.connections, buckets },
      options.unindexedLimits,
    ),
    changeFeed,
    idempotencyCapacity,
    pushLimits,
    planning: makePlanning(),
    work: workInThread,
    documents: makeDocuments(described, { previews, maxBatchBytes: limits.maxBatchBytes }),
    checkReady,
    log,
  };
}

export function makeIdentityDeps(
  { identityDb, consoleDb, identity, checkReady, streams, draining, options, shared }: Parts,
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
    callApi: makeCallGateway(options, {
      ...streams,
      publicUrl: identity.publicUrl,
      keyPrefix: options.keyPrefix,
    }),
    streamMemory: streams.streamMemory,
    rowsKeys: makeRowsKeys(),
    isPage,
    isRoute,
    previews: options.previews ?? [],
    searchGuides: makeGuideSearch(),
    draining,
    findSchemaFile: options.findSchemaFile,
  };
}

export function makeId(): string {
  return Bun.randomUUIDv7();
}
