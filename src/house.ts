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
import { DEFAULT_SETTINGS, type IdentitySettings, makeHashing } from "./identity/mod.ts";
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
  readonly db: Database;
  readonly admin: Database;
  /** Reads versions, tables and origins; fails while the database is away. */
  readonly warm: () => Promise<void>;
  readonly close: () => Promise<void>;
};

const ADMIN_CONNECTIONS = 2;

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
  const deps: AppDeps = {
    db,
    admin,
    catalog,
    origins,
    authenticate: makeAuthenticate({ db, watch, now: Date.now, keyPrefix: options.keyPrefix }),
    identity: { ...DEFAULT_SETTINGS, ...options.identity },
    hashing: makeHashing(),
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    log: options.log,
    now: Date.now,
    makeId: () => Bun.randomUUIDv7(),
    makeRequestId: () => Bun.randomUUIDv7(),
  };
  return {
    fetch: makeFetch(deps),
    db,
    admin,
    warm: async () => {
      await watch.read();
    },
    close: async () => {
      watch.stop();
      await Promise.all([db.close(), admin.close()]);
    },
  };
}
