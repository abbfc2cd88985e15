/**
 * The roles of a process, put together: everything in one, or a gateway in gatewayDeps of services of their own.
 *
 * In several processes the gateway alone knows keys, limits and origins: it authenticates, and signs whom it found to
 * the service behind. So a key's secret ends at the gateway, a key is looked up once, the data service's login need
 * not reach keys at all, and the services take nothing from anybody else.
 *
 * @module
 */
import { makeLimits, makeOrigins } from "../accounts/mod.ts";
import { makeCatalog } from "../catalog/mod.ts";
import { LIST_BYTES } from "../data/mod.ts";
import { type Database, EXECUTION_LIMIT_MS, type VersionWatch, watchVersions } from "../db/mod.ts";
import {
  type Audience,
  type Forward,
  makeAuthenticate,
  makeForward,
  makeOpenReceive,
  makeReadAddress,
  makeSignedReceive,
  makeTakeQuota,
  makeVerify,
  type Peer,
} from "../gateway/mod.ts";
import {
  type IdentitySettings,
  makeHashing,
  type PageDeps,
  toVirtualHost,
} from "../identity/mod.ts";
import { Problem } from "../problem.ts";
import type { Role } from "../role.ts";
import { systemRandomBytes } from "../std/random_text.ts";
import { type FetchDeps, makeFetch } from "./fetch.ts";
import type { CheckReady } from "./health.ts";
import { toForwardedTables, toTables } from "./routes.ts";

/** What a role is told of its surroundings. */
export type RoleOptions = {
  keyPrefix: string;
  /** Milliseconds that a request's statement may take; default: the service's documented limit. */
  limitMs?: number;
  /** Bytes of a list at the most, give or take a row; default: {@linkcode LIST_BYTES}. */
  maxResponseBytes?: number;
  /** The services' origins, for a gateway. */
  upstreams?: Readonly<Record<Audience, string | undefined>>;
  /** Shared with the other roles: the first signs, all verify. Needed by every role but `all`. */
  secrets?: readonly string[];
  /** Proxies whose `X-Forwarded-For` is believed. */
  trustedProxies?: readonly string[];
};

/** What every role stands on. */
export type Parts = {
  options: RoleOptions;
  identity: IdentitySettings;
  db: Database;
  admin: Database;
  checkReady: CheckReady;
  shared: Pick<FetchDeps, "guard" | "traffic" | "log" | "onAnswer" | "makeSpanId" | "now">;
};

export type BuiltRole = {
  fetch: (request: Request, peer: Peer) => Promise<Response>;
  watch: VersionWatch;
  /** Whether all that this role needs is ready. */
  checkReady: CheckReady;
};

export const ROLE_BUILDERS: Readonly<Record<Role, (parts: Parts) => BuiltRole>> = {
  all: buildAll,
  gateway: buildGateway,
  data: (parts) => buildService(parts, "data"),
  identity: (parts) => buildService(parts, "identity"),
};

/** How much longer than the service a gateway waits, so that the service's own answer comes first. */
const MARGIN_MS = 2000;

function buildAll(parts: Parts): BuiltRole {
  const { db, admin, checkReady, shared } = parts;
  const watch = watchVersions({ db, now: shared.now, log: shared.log }, async (versions) => {
    await Promise.all([catalog.follow(versions.catalog), refresh(versions.apps)]);
  });
  const catalog = makeCatalog({ db, look: watch.read });
  const { gatewayDeps, refresh } = makeGatewayDeps(parts, watch);
  const { maxResponseBytes = LIST_BYTES } = parts.options;
  const own = { admin, catalog, makeId, maxResponseBytes, checkReady };
  const deps = { ...gatewayDeps, ...makePageDeps(parts), ...own };
  return { fetch: makeFetch(deps, toTables(["data", "identity"])), watch, checkReady };
}

function buildGateway(parts: Parts): BuiltRole {
  const { db, shared } = parts;
  const watch = watchVersions({ db, now: shared.now, log: shared.log }, ({ apps }) =>
    refresh(apps),
  );
  const { gatewayDeps, refresh } = makeGatewayDeps(parts, watch);
  const forward = {
    data: makeForward(toUpstream(parts, "data")),
    identity: makeForward(toUpstream(parts, "identity")),
  };
  const checkReady = async () => {
    await parts.checkReady();
    await Promise.all(Object.values(forward).map(probe));
  };
  return {
    fetch: makeFetch({ ...gatewayDeps, checkReady }, toForwardedTables(forward)),
    watch,
    checkReady,
  };
}

/** A service of its own: takes what the gateway signed, and knows no key. Who may sign out is a question of origins. */
function buildService(parts: Parts, audience: Audience): BuiltRole {
  const { options, db, admin, checkReady, shared } = parts;
  const watch = watchVersions({ db, now: shared.now, log: shared.log }, async (versions) => {
    if (audience === "data") await catalog.follow(versions.catalog);
    else await origins.refresh(versions.apps);
  });
  // Nobody's, where they are never read.
  const origins = makeOrigins(db);
  const catalog = makeCatalog({ db, look: watch.read });
  const verify = makeVerify({ audience, secrets: readSecrets(options), now: shared.now });
  const receive = makeSignedReceive({ verify, log: shared.log, makeRequestId: makeId });
  const deps = {
    ...shared,
    ...makePageDeps(parts),
    receive,
    origins,
    admin,
    catalog,
    makeId,
    maxResponseBytes: options.maxResponseBytes ?? LIST_BYTES,
    checkReady,
  };
  const fetch = makeFetch({ ...deps, authenticate: refuseKeyless }, toTables([audience]));
  return { fetch, watch, checkReady };
}

type GatewayParts = { gatewayDeps: FetchDeps; refresh: (version: number) => Promise<void> };

/** What faces callers: keys, limits and origins. */
function makeGatewayDeps(
  { options, identity, db, shared }: Parts,
  watch: VersionWatch,
): GatewayParts {
  const { now } = shared;
  const origins = makeOrigins(db);
  const limits = makeLimits(db);
  const gatewayDeps: FetchDeps = {
    ...shared,
    receive: makeOpenReceive({
      makeRequestId: makeId,
      readAddress: makeReadAddress(options.trustedProxies ?? []),
      readVirtualHost: (host) => toVirtualHost(host, identity),
    }),
    authenticate: makeAuthenticate({ db, watch, now, keyPrefix: options.keyPrefix }),
    takeQuota: makeTakeQuota({ limits, now }),
    origins,
  };
  return {
    gatewayDeps,
    refresh: async (version) => {
      await Promise.all([origins.refresh(version), limits.refresh(version)]);
    },
  };
}

/** What the identity pages need. */
function makePageDeps({ identity, db }: Parts): PageDeps {
  return { db, identity, hashing: makeHashing(), randomBytes: systemRandomBytes };
}

/** A key that the gateway did not vouch for counts for nothing. */
function refuseKeyless(): never {
  throw new Problem("unauthenticated");
}

function toUpstream(
  { options, shared }: Parts,
  audience: Audience,
): Parameters<typeof makeForward>[0] {
  const [secret = ""] = readSecrets(options);
  const url = options.upstreams?.[audience];
  if (url === undefined) throw new Error(`Cannot open a gateway: no address of ${audience} is set`);
  const deadlineMs = (options.limitMs ?? EXECUTION_LIMIT_MS) + MARGIN_MS;
  return { audience, url, secret, deadlineMs, now: shared.now };
}

function readSecrets({ secrets = [] }: RoleOptions): readonly string[] {
  if (secrets.length > 0) return secrets;
  throw new Error("Cannot open a part of a service: it needs a shared secret");
}

/** @throws {Problem} unavailable — the service behind is not ready */
async function probe(forward: Forward): Promise<void> {
  const request = new Request("http://service/ready");
  const context = {
    request,
    requestId: makeId(),
    params: {},
    query: "",
    address: "",
    meter: { dbMs: 0 },
  };
  const options = { virtualHost: "gateway", principal: undefined, maxBytes: 0 } as const;
  const { status } = await forward(context, options);
  if (status !== 200) throw new Problem("unavailable", { message: "A service is not ready" });
}

function makeId(): string {
  return Bun.randomUUIDv7();
}
