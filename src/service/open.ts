/**
 * Opens a service: pools, guard, metrics and the process's role. Used by the commands and the tests.
 *
 * @module
 */

import { makeIdempotencyCapacity } from "../data/mod.ts";
import { type Database, makeNodeMap } from "../db/mod.ts";
import type { Peer } from "../gateway/mod.ts";
import { MAX_STREAMS, makeCountStream, makeStreamMemory } from "../http/mod.ts";
import { DEFAULT_SETTINGS, type IdentitySettings } from "../identity/mod.ts";
import { readLimits, type SetLimits } from "../limit_setting.ts";
import { type Brand, setBrand } from "../pages/mod.ts";
import { makeIdentitySecrets } from "../records/secrets/mod.ts";
import { servesPeople, servesRows } from "../role.ts";
import { systemRandomBytes } from "../std/random_text.ts";
import { makeCheckBodies } from "../tables/mod.ts";
import { type Databases, type DatabasesOptions, openDatabases } from "./databases.ts";
import { makeAdminFetch, makeCheckReady } from "./health.ts";
import { makeGuard } from "./isolation_guard.ts";
import { type MailingDeps, startMailing } from "./mailing.ts";
import { makeMetrics } from "./metrics.ts";
import { makeOutage } from "./outage.ts";
import { makeRecorder } from "./recorder.ts";
import type { RoleOptions } from "./role_parts.ts";
import { ROLE_BUILDERS } from "./roles.ts";
import { startStatistics } from "./statistics.ts";
import { startSweeps } from "./sweeps.ts";

export type ServiceOptions = RoleOptions &
  Partial<SetLimits> &
  DatabasesOptions & {
    /** The clock for keys, limits and signatures; defaults to the system clock. */
    now?: () => number;
    /** Interval of isolation and readiness checks; defaults to ten seconds. */
    checkIntervalMs?: number;
    /** How old another process's check of the isolation can be at the start, in milliseconds; defaults to 0, a check of its own. */
    startAgeMs?: number;
    /** Retention of audit log entries in seconds, 0 for unlimited; defaults to `AUDIT_RETENTION_S`. */
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
   * Reads versions, tables and origins, after a first check of the isolation; fails while the database is unavailable.
   *
   * @throws {IsolationError} the database does not isolate apps
   */
  readonly warm: () => Promise<void>;
  /** Reports not ready from now on, so that load balancers use other processes. */
  readonly drain: () => void;
  readonly close: () => Promise<void>;
};

/** The database is checked every second; without a response for this long, it is unavailable. */
const SILENCE_LIMIT_MS = 3000;

/** The database does not isolate apps, so the service must not serve. */
export class IsolationError extends Error {
  constructor(issues: readonly string[]) {
    super(`The database does not isolate apps:\n${issues.map((issue) => `  ${issue}`).join("\n")}`);
    this.name = "IsolationError";
  }
}

/** Opens a service without connecting: if the database is unavailable, requests fail. */
export function openService(options: ServiceOptions): Service {
  const { role = "all", brand = {}, log, now = Date.now } = options;
  if (servesPeople(role)) setBrand(brand);
  const outage = makeOutage({ log, now: () => performance.now() });
  const nodes = makeNodeMap();
  const databases = openDatabases(options, { nodes, outage });
  const { db, admin, identityDb } = databases;
  const { checkIntervalMs, startAgeMs } = options;
  const timing = { now: () => performance.now(), checkIntervalMs };
  const checkBodies = servesRows(role) ? makeCheckBodies(db) : undefined;
  const guard = makeGuard({ db, nodes, checkBodies, log, startAgeMs, ...timing });
  const draining = new AbortController();
  const traffic = { inFlight: 0 };
  const streamMemory = makeStreamMemory();
  const metrics = makeMetrics({
    pools: toPoolStats(databases),
    inFlight: () => traffic.inFlight,
    streamBytes: streamMemory.bytes,
  });
  const statistics = startStatistics({
    ...{ db, log, role, evaluate: guard.evaluate, now, previews: options.previews ?? [] },
    findTable: (appId, name) => findTable?.(appId, name),
    makeId: () => crypto.randomUUID(),
  });
  const limits = readLimits((name) => options[name]);
  const idempotencyCapacity = makeIdempotencyCapacity(limits.idempotencyBytes);
  const { fetch, watch, checkReady, findTable } = ROLE_BUILDERS[role]({
    ...databases,
    ...{ options, limits, idempotencyCapacity, draining: draining.signal },
    streams: {
      countStream: makeCountStream({ ...MAX_STREAMS, ...options.maxStreams }),
      streamMemory,
    },
    identity: { ...DEFAULT_SETTINGS, ...options.identity },
    checkReady: makeCheckReady({
      ...{ db, guard, ...timing, servesRows: servesRows(role) },
      isDraining: () => draining.signal.aborted,
      isUnavailable: () => outage.isUnderWay() || now() - watch.confirmedAt() > SILENCE_LIMIT_MS,
    }),
    shared: {
      ...{ guard, traffic, log, now },
      onResponse: makeRecorder(options, { metrics, outage, statistics }),
      makeSpanId: () => Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex"),
    },
  });
  const stopSweeps = startSweeps({ options, db, identityDb, idempotencyCapacity }, role);
  const endMailing = openMailing(options, { db: identityDb, record: metrics.recordMail });
  return {
    ...{ fetch, db, identityDb, admin },
    adminFetch: makeAdminFetch({ checkReady, metrics, log }),
    warm: async () => {
      // First: jobs on rows, which start with the first versions, use the verdict instead of asking for another one.
      if (guard.evaluate()?.issues.length !== 0) {
        const { issues } = await guard.read();
        if (issues.length > 0) throw new IsolationError(issues);
      }
      await watch.read();
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

function toPoolStats({ db, admin, identityDb }: Databases) {
  return {
    serving: db.stats,
    admin: admin.stats,
    ...(identityDb !== db && { identity: identityDb.stats }),
  };
}

/** Sends emails in a process that serves identity, if a mail server is configured. */
function openMailing(
  { mail, identity, identitySecrets = [], role = "all", log, now = Date.now }: ServiceOptions,
  { db, record }: Pick<MailingDeps, "db" | "record">,
): () => Promise<void> {
  const pagesUrl = identity?.identityUrl ?? identity?.publicUrl;
  if (mail === undefined || pagesUrl === undefined || !servesPeople(role)) return async () => {};
  return startMailing({
    ...{ db, log, record },
    mail: { ...mail, pagesUrl },
    identitySecrets: makeIdentitySecrets(identitySecrets),
    randomBytes: systemRandomBytes,
    now: () => new Date(now()),
  });
}
