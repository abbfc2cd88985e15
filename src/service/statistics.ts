/**
 * Request statistics for the Console: each process counts its responses by app, samples failed, slow and rejected requests,
 * and adds both to the database once a minute, in one call. A minute that could not be added waits, and is added once.
 * Never stores a request's values, target or headers.
 *
 * @module
 */
import {
  ALL_APPS,
  CONSOLE_APP,
  call,
  coalesce,
  type Database,
  NO_APP,
  RELEASE_TEXT,
} from "../db/mod.ts";
import { CONSOLE_PATH } from "../identity/mod.ts";
import { type Log, logError, type ResponseRecord } from "../observe.ts";
import type { Preview } from "../preview.ts";
import { isFailure, isOutage, isRejected } from "../problem.ts";
import { type Role, servesPeople, servesRows } from "../role.ts";
import { LATENCY_BUCKETS, toLatencyBucket } from "../std/latency.ts";
import { MAX_FAILED_A_MINUTE, SLOW_MS } from "../std/limits.ts";
import type { Evaluation } from "./isolation_guard.ts";
import {
  addRejection,
  type FindTable,
  makeRejections,
  type Rejection,
  type Rejections,
  type Stored,
  toStored,
} from "./rejections.ts";

type Statistics = {
  readonly record: (response: ResponseRecord, rejection: Rejection | undefined) => void;
  /** Adds the remaining counts and records that this process has ended; waits at most {@linkcode END_LIMIT_MS}. */
  readonly end: () => Promise<void>;
};

type StatisticsDeps = {
  db: Database;
  log: Log;
  role: Role;
  /** What the process serves. */
  previews: readonly Preview[];
  /** The guard's last verdict. */
  evaluate: () => Evaluation | undefined;
  /** Finds an app's declared table; always `undefined` in a process without a catalog. */
  findTable: FindTable;
  makeId: () => string;
  now: () => number;
};

const MINUTE_MS = 60_000;
const TICK_MS = 1000;
/** How long the shutdown waits for the last minute. */
const END_LIMIT_MS = 700;
/** Per minute; requests of more apps count only in the total. */
const MAX_APPS = 10_000;
/** How many minutes wait while the database is unavailable; older minutes are lost. */
const MAX_WAITING = 60;

type Counts = { requests: number; errors: number; rejections: number; latencies: number[] };
type Minute = {
  number: number;
  all: Counts;
  byApp: Map<string, Counts>;
  rejections: Rejections;
  stored: Stored[];
};
type Waiting = { minute: Minute; hasEnded: boolean };

/** Starts to count; adds the counts every minute. */
export function startStatistics(deps: StatisticsDeps): Statistics {
  const { now, role, log, findTable } = deps;
  const identity = { id: deps.makeId(), role, startedMs: now() };
  // A service behind a gateway counts its own responses; the gateway counts only the requests that it rejects.
  const counts = servesRows(role) || servesPeople(role);
  let open = makeMinute(toMinute(now()));
  let isServed = false;
  // An empty minute first, so that the process is listed before its first response.
  const waiting: Waiting[] = [{ minute: makeMinute(open.number - 1), hasEnded: false }];
  const addWaiting = coalesce(async () => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      await add(deps, identity, next).catch(logUnlessUnavailable(log));
      if (waiting[0] === next) waiting.shift();
    }
    if (isServed) return;
    const values = { process: identity.id, served: deps.previews };
    await call(deps.db, "serve_previews", values).catch(logUnlessUnavailable(log));
    isServed = true;
  });
  const close = (number: number, hasEnded: boolean): void => {
    waiting.push({ minute: open, hasEnded });
    open = makeMinute(number);
    if (waiting.length > MAX_WAITING) waiting.shift();
  };
  const timer = setInterval(() => {
    const number = toMinute(now());
    // If the clock is set back, keep filling the open minute instead of counting a minute twice.
    if (number > open.number) close(number, false);
    if (waiting.length > 0) addWaiting().catch(logError(log, "the statistics"));
  }, TICK_MS);
  timer.unref();
  return {
    record: (response, rejection) => {
      if (response.route === "/live" || response.route === "/ready") return;
      if (!counts && (response.code === undefined || response.status < 400)) return;
      // A service that is reached counts its own failures.
      if (counts || response.status < 500 || response.code === "unavailable") count(open, response);
      if (isStored(response))
        keep(open, toStored(response, rejection ?? UNKNOWN, { findTable, now: now() }));
    },
    end: async () => {
      clearInterval(timer);
      close(open.number + 1, true);
      const added = addWaiting().catch(logError(log, "the statistics"));
      await Promise.race([added, Bun.sleep(END_LIMIT_MS)]);
    },
  };
}

function toMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}

function makeMinute(number: number): Minute {
  const rejections = makeRejections();
  return { number, all: makeCounts(), byApp: new Map(), rejections, stored: [] };
}

function makeCounts(): Counts {
  return { requests: 0, errors: 0, rejections: 0, latencies: Array(LATENCY_BUCKETS).fill(0) };
}

function count({ all, byApp }: Minute, response: ResponseRecord): void {
  const bucket = toLatencyBucket(response.ms);
  const appId = toCountedApp(response);
  addTo(all, response, bucket);
  let counts = byApp.get(appId);
  if (counts === undefined) {
    // The total includes every request, so the others must have a place.
    if (byApp.size >= MAX_APPS && appId !== NO_APP && appId !== CONSOLE_APP) return;
    counts = makeCounts();
    byApp.set(appId, counts);
  }
  addTo(counts, response, bucket);
}

/** The Console's own requests are never those of an app. */
function toCountedApp({ appId, isOfConsole, route }: ResponseRecord): string {
  const isPage = route === CONSOLE_PATH || route.startsWith(`${CONSOLE_PATH}/`);
  if (isOfConsole === true || isPage) return CONSOLE_APP;
  return appId ?? NO_APP;
}

function addTo(counts: Counts, response: ResponseRecord, bucket: number): void {
  counts.requests++;
  if (isFailure(response)) counts.errors++;
  else if (isRejected(response)) counts.rejections++;
  counts.latencies[bucket] = (counts.latencies[bucket] ?? 0) + 1;
}

/** The Console shows the rejections of its own calls in its forms. */
function isStored(response: ResponseRecord): boolean {
  const isShown = response.isOfConsole === true && isRejected(response);
  return (response.status >= 400 && !isShown) || response.ms > SLOW_MS;
}

const UNKNOWN: Rejection = {
  ...{
    table: undefined,
    presentedKey: undefined,
    details: undefined,
    found: undefined,
    parameters: undefined,
  },
};

function keep({ rejections, stored }: Minute, request: Stored): void {
  if (isRejected(request) && !request.isOfConsole) addRejection(rejections, request);
  else if (stored.length < MAX_FAILED_A_MINUTE) stored.push(request);
}

/** After an outage the minute is added later; if the database rejects it, it is lost and the error is logged. */
function logUnlessUnavailable(log: Log): (error: unknown) => void {
  return (error) => {
    if (isOutage(error)) throw error;
    logError(log, "the statistics")(error);
  };
}

type ProcessIdentity = { id: string; role: Role; startedMs: number };

async function add(
  { db, evaluate }: StatisticsDeps,
  { id, role, startedMs }: ProcessIdentity,
  { minute, hasEnded }: Waiting,
): Promise<void> {
  const evaluation = evaluate();
  const counted = [[ALL_APPS, minute.all] as const, ...minute.byApp]
    .filter(([, counts]) => counts.requests > 0)
    .map(([app, counts]) => ({ app, ...counts }));
  await call(db, "add_minute", {
    process: id,
    process_role: role,
    started: new Date(startedMs),
    added_minute: new Date(minute.number * MINUTE_MS),
    has_ended: hasEnded,
    checked_s: evaluation && evaluation.ageMs / 1000,
    issues: evaluation?.issues ?? [],
    counted,
    rejected: [...minute.rejections.counts.values()],
    stored: [...minute.stored, ...minute.rejections.samples],
    process_version: RELEASE_TEXT,
  });
}

const SWEEP_STEP = 5000;

/** Deletes a batch of expired statistics; returns whether more can follow. */
export async function sweepStatistics({ db }: { db: Database }): Promise<boolean> {
  return (await call(db, "sweep_statistics", { max_rows: SWEEP_STEP })) >= SWEEP_STEP;
}
