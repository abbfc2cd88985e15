/**
 * Opens a service: pools, guard, metrics and the process's role. Used by the commands and the tests.
 *
 * @module
 */

import { makeIdentitySecrets } from "../accounts/secrets/mod.ts";
import { IDEMPOTENCY_BYTES, makeIdempotencyRoom } from "../data/mod.ts";
import { type Database, makeNodeMap, openDatabase } from "../db/mod.ts";
import { type Peer, readPresentedKeyId } from "../gateway/mod.ts";
import { DEFAULT_SETTINGS, type IdentitySettings } from "../identity/mod.ts";
import { type AnswerRecord, type Log, toCause } from "../observe.ts";
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
  /** Connection string of the pushing login. */
  adminDatabaseUrl: string;
  /** Connection string of the Console's login; unset: no Console. */
  consoleDatabaseUrl?: string | undefined;
  /** Connection string of the login for identity, for role `all`; unset: identity uses `databaseUrl`. */
  identityDatabaseUrl?: string | undefined;
  /** Pool size for identity; defaults to `connections`. */
  identityConnections?: number | undefined;
  connections: number;
  /** Pool size for each node of a distributed database; 0, the default: all calls go through the coordinator. */
  nodeConnections?: number | undefined;
  prepare: boolean;
  log: Log;
  /** Defaults to `all`. */
  role?: Role;
  /** The clock for keys, limits and signatures; defaults to the system clock. */
  now?: () => number;
  /** Interval of isolation and readiness checks; defaults to ten seconds. */
  lookIntervalMs?: number;
  /** Retention of audit log entries in seconds, 0 for unlimited; defaults to {@linkcode AUDIT_RETENTION_S}. */
  auditRetentionS?: number;
  /** Hosts, cookies and sessions; defaults to one host for everything, without single sign-on. */
  identity?: Partial<IdentitySettings>;
  /** The organization's name and icon; defaults to the product's. */
  brand?: Brand;
};

export type Service = {
  readonly fetch: (request: Request, peer: Peer) => Promise<Response>;
  /** Handles the port for operators. */
  readonly adminFetch: (request: Request) => Promise<Response>;
  /** Connections of the serving login. */
  readonly db: Database;
  /** Connections of the login for identity; the same as `db` without such a login. */
  readonly identityDb: Database;
  /** Connections of the pushing login, directly to PostgreSQL. */
  readonly admin: Database;
  /**
   * Reads versions, tables and origins; fails while the database is unavailable.
   *
   * @throws {IsolationError} the database does not isolate apps
   */
  readonly warm: () => Promise<void>;
  /** Reports not ready from now on, so that load balancers use other processes. */
  readonly drain: () => void;
  readonly close: () => Promise<void>;
};

/** Per process that pushes. */
export const ADMIN_CONNECTIONS = 4;
/** One for an app's push and one to reject a concurrent push as busy; the rest is for other apps and deferred builds. */
const ADMIN_SHARE = 2;

/** Per process that serves the Console: enough for a few users, and a long deletion of an app. */
const CONSOLE_CONNECTIONS = 4;

/** The database is checked every second; without a response for this long, it is unavailable. */
const SILENCE_LIMIT_MS = 3000;

const MISMATCH =
  "The database returned the result of another request. It was not delivered, and the connection was closed. Check the pooler and the network: this error is critical";

/** The database does not isolate apps, so the service must not serve. */
export class IsolationError extends Error {
  constructor(issues: readonly string[]) {
    super(
      `The database does not keep apps apart:\n${issues.map((issue) => `  ${issue}`).join("\n")}`,
    );
    this.name = "IsolationError";
  }
}

/** Opens a service without connecting: if the database is unavailable, requests fail. */
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
        options.log(isRejectedByUs(answer) ? "warn" : "info", "request", answer);
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
      const { issues } = await guard.look();
      if (issues.length > 0) throw new IsolationError(issues);
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

/** One pool per login. */
function openDatabases(options: ServiceOptions, { nodes, outage }: Watchers) {
  const { prepare, role = "all" } = options;
  const db = openDatabase({
    nodes,
    nodeConnections: options.nodeConnections ?? 0,
    onNodeUnavailable: (node, cause) =>
      options.log("warn", "node unreachable", {
        message: `${node}: calls of its apps go through the coordinator`,
        cause: toCause(cause),
      }),
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

/** The Console's separate connections, in a process that serves its pages. */
function openConsole(
  { consoleDatabaseUrl: url, prepare }: ServiceOptions,
  role: Role,
): Database | undefined {
  if (url === undefined || (role !== "all" && role !== "identity")) return undefined;
  return openDatabase({ url, connections: CONSOLE_CONNECTIONS, prepare, name: "rowhouse console" });
}

/** Separate connections for identity in role `all`; in a split service each part has its own login. */
function openIdentity(options: ServiceOptions, role: Role): Database | undefined {
  const { identityDatabaseUrl: url, identityConnections, connections, prepare, limitMs } = options;
  if (url === undefined || role !== "all") return undefined;
  return openDatabase({
    ...{ url, prepare, connections: identityConnections ?? connections },
    name: "rowhouse identity",
    ...(limitMs === undefined ? {} : { limitMs }),
  });
}

/** Sends mails in a process that serves identity, if a mail server is configured. */
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

/** Whether the service caused the failure, not the caller or an unsupported feature. */
function isRejectedByUs({ status, code }: AnswerRecord): boolean {
  return status >= 500 && code !== "not_implemented";
}
