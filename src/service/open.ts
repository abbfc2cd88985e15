/**
 * A running service: pools, guard, metrics and the role of the process put together over two connection strings. The
 * commands and the tests open one and close it.
 *
 * @module
 */

import { makeIdentitySecrets } from "../accounts/secrets/mod.ts";
import { IDEMPOTENCY_BYTES, makeIdempotencyRoom } from "../data/mod.ts";
import { type Database, makeNodeMap, openDatabase } from "../db/mod.ts";
import { type Peer, readPresentedKeyId } from "../gateway/mod.ts";
import { DEFAULT_SETTINGS, type IdentitySettings } from "../identity/mod.ts";
import type { AnswerRecord, Log } from "../observe.ts";
import { type Brand, setBrand } from "../pages/mod.ts";
import { makeCheckBodies } from "../push/mod.ts";
import { type Role, servesPeople, servesRows } from "../role.ts";
import { systemRandomBytes } from "../std/random_text.ts";
import type { RejectedRequest } from "./fetch.ts";
import { makeAdminFetch, makeCheckReady } from "./health.ts";
import { makeGuard } from "./isolation_guard.ts";
import { type MailingDeps, startMailing } from "./mailing.ts";
import { makeMetrics } from "./metrics.ts";
import { makeOutage } from "./outage.ts";
import type { Rejection } from "./rejections.ts";
import { ROLE_BUILDERS, type RoleOptions } from "./roles.ts";
import { startStatistics } from "./statistics.ts";
import { startSweeps } from "./sweeps.ts";

export type ServiceOptions = RoleOptions & {
  databaseUrl: string;
  /** Of the login that pushes. */
  adminDatabaseUrl: string;
  /** Of the login on which administrators act from a browser; unset: no Console. */
  consoleDatabaseUrl?: string | undefined;
  /** Of the login for identity, where one process does everything; unset: it shares that of `databaseUrl`. */
  identityDatabaseUrl?: string | undefined;
  /** Of the pool for identity; default: as many as `connections`. */
  identityConnections?: number | undefined;
  connections: number;
  prepare: boolean;
  log: Log;
  /** What this process does; default: everything. */
  role?: Role;
  /** The clock for keys, limits and signatures; default: the machine's. */
  now?: () => number;
  /** How often isolation and readiness are checked; default: every ten seconds. */
  lookIntervalMs?: number;
  /** How many seconds entries of the audit log are kept, 0 for ever; default: {@linkcode AUDIT_RETENTION_S}. */
  auditRetentionS?: number;
  /** Hosts, cookies and sessions; default: one host for everything, no single sign-on. */
  identity?: Partial<IdentitySettings>;
  /** Whose service it is; default: the product's own name and icon. */
  brand?: Brand;
};

export type Service = {
  readonly fetch: (request: Request, peer: Peer) => Promise<Response>;
  /** What the port for operators answers. */
  readonly adminFetch: (request: Request) => Promise<Response>;
  /** Of the login that serves. */
  readonly db: Database;
  /** Of the login for identity; the same as `db` without such a login. */
  readonly identityDb: Database;
  /** Of the login that pushes, straight to PostgreSQL. */
  readonly admin: Database;
  /**
   * Reads versions, tables and origins; fails while the database is away.
   *
   * @throws {IsolationError} the database does not keep apps apart
   */
  readonly warm: () => Promise<void>;
  /** Reports not ready from now on, so that requests are sent elsewhere. */
  readonly drain: () => void;
  readonly close: () => Promise<void>;
};

/** Of each process that pushes. */
export const ADMIN_CONNECTIONS = 4;
/** For one push of an app, one that is told it is busy, and deferred builds, which leave connections to others. */
const ADMIN_SHARE = 2;

/** Of each process that serves the Console: a few people look, and one may delete an app. */
const CONSOLE_CONNECTIONS = 4;

/** The database is asked every second; if it has not answered for this long, it is away. */
const SILENCE_LIMIT_MS = 3000;

const MISMATCH =
  "The database returned the result of another request. It was not delivered, and the connection was closed. Check the pooler and the network: this error is critical";

/** The database does not keep apps apart, so the service must not serve. */
export class IsolationError extends Error {
  constructor(faults: readonly string[]) {
    super(
      `The database does not keep apps apart:\n${faults.map((fault) => `  ${fault}`).join("\n")}`,
    );
    this.name = "IsolationError";
  }
}

/** Opens a service without connecting to anything: if the database is away, requests report it. */
export function openService(options: ServiceOptions): Service {
  const { role = "all", brand = {} } = options;
  if (servesPeople(role)) setBrand(brand);
  const outage = makeOutage({ log: options.log, now: () => performance.now() });
  const nodes = makeNodeMap();
  const databases = openDatabases(options, { nodes, outage });
  const { db, admin, consoleDb, identityDb } = databases;
  const now = options.now ?? Date.now;
  const looks = { now: () => performance.now(), lookIntervalMs: options.lookIntervalMs };
  const checkBodies = servesRows(role) ? makeCheckBodies(db) : undefined;
  const guard = makeGuard({ db, nodes, checkBodies, log: options.log, ...looks });
  const draining = new AbortController();
  const traffic = { inFlight: 0 };
  const metrics = makeMetrics({
    pools: {
      serving: db.stats,
      admin: admin.stats,
      ...(identityDb !== db && { identity: identityDb.stats }),
    },
    inFlight: () => traffic.inFlight,
  });
  const statistics = startStatistics({
    ...{ db, log: options.log, role, judge: guard.judge, now },
    findTable: (appId, name) => findTable?.(appId, name),
    makeId: () => crypto.randomUUID(),
  });
  const idempotencyRoom = makeIdempotencyRoom(options.idempotencyBytes ?? IDEMPOTENCY_BYTES);
  const { fetch, watch, checkReady, findTable } = ROLE_BUILDERS[role]({
    options,
    idempotencyRoom,
    identity: { ...DEFAULT_SETTINGS, ...options.identity },
    db,
    admin,
    consoleDb,
    identityDb,
    draining: draining.signal,
    checkReady: makeCheckReady({
      db,
      guard,
      servesRows: servesRows(role),
      isDraining: () => draining.signal.aborted,
      isAway: () => outage.isUnderWay() || now() - watch.confirmedAt() > SILENCE_LIMIT_MS,
      ...looks,
    }),
    shared: {
      guard,
      traffic,
      log: options.log,
      onAnswer: (answer, rejected) => {
        options.log(isRefusedByUs(answer) ? "warn" : "info", "request", answer);
        metrics.note(answer);
        outage.note(answer);
        statistics.note(answer, rejected && toRejection(options, answer, rejected));
      },
      makeSpanId: () => Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex"),
      now,
    },
  });
  const stopSweeps = startSweeps({ options, db, identityDb, idempotencyRoom }, role);
  const endMailing = openMailing(options, { db: identityDb, note: metrics.noteMail });
  return {
    fetch,
    adminFetch: makeAdminFetch({ checkReady, metrics, log: options.log }),
    db,
    identityDb,
    admin,
    warm: async () => {
      await watch.read();
      const { faults } = await guard.look();
      if (faults.length > 0) throw new IsolationError(faults);
    },
    drain: () => draining.abort(),
    close: async () => {
      draining.abort();
      watch.stop();
      guard.stop();
      stopSweeps();
      await endMailing();
      await statistics.end();
      await databases.close();
    },
  };
}

type Watchers = {
  nodes: ReturnType<typeof makeNodeMap>;
  outage: ReturnType<typeof makeOutage>;
};

/** A pool for each login. */
function openDatabases(options: ServiceOptions, { nodes, outage }: Watchers) {
  const { prepare, role = "all" } = options;
  const db = openDatabase({
    nodes,
    onAway: outage.begin,
    onThere: outage.end,
    onMismatch: () => options.log("error", "answer mismatch", { message: MISMATCH }),
    url: options.databaseUrl,
    connections: options.connections,
    prepare,
    name: role === "all" ? "rowhouse" : `rowhouse ${role}`,
    ...(options.limitMs === undefined ? {} : { limitMs: options.limitMs }),
  });
  const admin = openDatabase({
    nodes,
    url: options.adminDatabaseUrl,
    connections: ADMIN_CONNECTIONS,
    share: ADMIN_SHARE,
    prepare,
    name: "rowhouse admin",
  });
  const consoleDb = openConsole(options, role);
  const ownIdentityDb = openIdentity(options, role);
  const close = async () => {
    await Promise.all([db.close(), admin.close(), consoleDb?.close(), ownIdentityDb?.close()]);
  };
  return { db, admin, consoleDb, identityDb: ownIdentityDb ?? db, close };
}

function toRejection(
  { keyPrefix }: ServiceOptions,
  { appId }: AnswerRecord,
  { request, params, details }: RejectedRequest,
): Rejection {
  const presentedKey = appId === undefined ? readPresentedKeyId(request, keyPrefix) : undefined;
  return { table: params["table"], presentedKey, details };
}

/** The Console's own connections, in a process that serves its pages. */
function openConsole(
  { consoleDatabaseUrl: url, prepare }: ServiceOptions,
  role: Role,
): Database | undefined {
  if (url === undefined || (role !== "all" && role !== "identity")) return undefined;
  return openDatabase({ url, connections: CONSOLE_CONNECTIONS, prepare, name: "rowhouse console" });
}

/** The connections of identity alone, in a process that does everything: in its parts each has its own login anyway. */
function openIdentity(options: ServiceOptions, role: Role): Database | undefined {
  const { identityDatabaseUrl: url, identityConnections, connections, prepare, limitMs } = options;
  if (url === undefined || role !== "all") return undefined;
  return openDatabase({
    ...{ url, prepare, connections: identityConnections ?? connections },
    name: "rowhouse identity",
    ...(limitMs === undefined ? {} : { limitMs }),
  });
}

/** Sends mails in a process that serves people, where there is a server to give them to. */
function openMailing(
  { mail, identity, identitySecrets = [], role = "all", log, now = Date.now }: ServiceOptions,
  { db, note }: Pick<MailingDeps, "db" | "note">,
): () => Promise<void> {
  const pagesUrl = identity?.identityUrl ?? identity?.publicUrl;
  if (mail === undefined || pagesUrl === undefined || !servesPeople(role)) return async () => {};
  return startMailing({
    ...{ db, log, note },
    mail: { ...mail, pagesUrl },
    identitySecrets: makeIdentitySecrets(identitySecrets),
    randomBytes: systemRandomBytes,
    now: () => new Date(now()),
  });
}

/** Whether a request failed through our fault: not the caller's, and not because a feature is missing. */
function isRefusedByUs({ status, code }: AnswerRecord): boolean {
  return status >= 500 && code !== "not_implemented";
}
