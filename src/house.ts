/**
 * A running house: pools, watch, catalog and routes put together over two connection strings. The commands and the
 * tests open one and close it.
 *
 * @module
 */
import { makeOrigins } from "./accounts/mod.ts";
import { type AppDeps, makeFetch, type Peer } from "./app.ts";
import { makeCatalog } from "./catalog/mod.ts";
import { type Database, openDatabase, watchVersions } from "./db/mod.ts";
import { makeAuthenticate } from "./gateway/mod.ts";
import { makeGuard } from "./guard.ts";
import { makeAdminFetch, makeCheckReady } from "./health.ts";
import { DEFAULT_SETTINGS, type IdentitySettings, makeHashing } from "./identity/mod.ts";
import { makeMetrics } from "./metrics.ts";
import type { Log } from "./observe.ts";

export type HouseOptions = {
  databaseUrl: string;
  adminDatabaseUrl: string;
  connections: number;
  prepare: boolean;
  keyPrefix: string;
  log: Log;
  /** Milliseconds that a request's statement may take; default: the service's documented limit. */
  limitMs?: number;
  /** Hosts, cookies and sessions; default: one host for everything, no single sign-on. */
  identity?: Partial<IdentitySettings>;
};

export type House = {
  readonly fetch: (request: Request, peer: Peer) => Promise<Response>;
  /** What the port for operators answers. */
  readonly adminFetch: (request: Request) => Promise<Response>;
  readonly db: Database;
  readonly admin: Database;
  /**
   * Reads versions, tables and origins; fails while the database is away.
   *
   * @throws {IsolationError} the database does not keep apps apart
   */
  readonly warm: () => Promise<void>;
  /** Not ready from now on: whoever sends requests here should send them elsewhere. */
  readonly drain: () => void;
  readonly close: () => Promise<void>;
};

const ADMIN_CONNECTIONS = 2;

/** The database does not keep apps apart: a house over it must not serve. */
export class IsolationError extends Error {
  constructor(faults: readonly string[]) {
    super(
      `The database does not keep apps apart:\n${faults.map((fault) => `  ${fault}`).join("\n")}`,
    );
    this.name = "IsolationError";
  }
}

/** Opens a house. Connects to nothing by itself: a database that is away is the requests' to report. */
export function openHouse(options: HouseOptions): House {
  const { prepare } = options;
  const db = openDatabase({
    url: options.databaseUrl,
    connections: options.connections,
    prepare,
    name: "rowhouse",
    ...(options.limitMs === undefined ? {} : { limitMs: options.limitMs }),
  });
  const admin = openDatabase({
    url: options.adminDatabaseUrl,
    connections: ADMIN_CONNECTIONS,
    prepare,
    name: "rowhouse admin",
  });
  const origins = makeOrigins(db);
  const catalog = makeCatalog({ db, look: () => watch.read() });
  const watch = watchVersions({ db, now: Date.now }, async (versions) => {
    await Promise.all([catalog.follow(versions.catalog), origins.refresh(versions.apps)]);
  });
  const guard = makeGuard({ db, log: options.log });
  const authenticate = makeAuthenticate({ db, watch, now: Date.now, keyPrefix: options.keyPrefix });
  let isDraining = false;
  let inFlight = 0;
  const metrics = makeMetrics({
    pools: { serving: db.stats, admin: admin.stats },
    inFlight: () => inFlight,
  });
  const deps: AppDeps = {
    db,
    admin,
    catalog,
    origins,
    authenticate: (request) => {
      const checked = guard.check();
      return checked === undefined
        ? authenticate(request)
        : checked.then(() => authenticate(request));
    },
    checkReady: makeCheckReady({ db, guard, isDraining: () => isDraining }),
    identity: { ...DEFAULT_SETTINGS, ...options.identity },
    hashing: makeHashing(),
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    log: options.log,
    onAnswer: (answer) => {
      options.log("info", "request", answer);
      metrics.note(answer);
    },
    makeSpanId: () => Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex"),
    now: Date.now,
    makeId: () => Bun.randomUUIDv7(),
    makeRequestId: () => Bun.randomUUIDv7(),
  };
  const fetch = makeFetch(deps);
  return {
    fetch: async (request, peer) => {
      inFlight++;
      try {
        return await fetch(request, peer);
      } finally {
        inFlight--;
      }
    },
    adminFetch: makeAdminFetch({ ...deps, metrics }),
    db,
    admin,
    warm: async () => {
      await watch.read();
      const faults = await guard.look();
      if (faults.length > 0) throw new IsolationError(faults);
    },
    drain: () => {
      isDraining = true;
    },
    close: async () => {
      watch.stop();
      guard.stop();
      await Promise.all([db.close(), admin.close()]);
    },
  };
}
