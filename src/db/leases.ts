/**
 * Leases of tokens from the shared buckets: a process reports its use to the database, which returns leases. One statement
 * runs at a time, for all buckets that are due. Nothing is sent while there is nothing to report.
 * @see shared_buckets.ts
 *
 * @module
 */
import { call } from "./call.ts";
import type { Database } from "./pool/mod.ts";

export const MINUTE_MS = 60_000;

export function refill(bucket: SharedBucket, time: number): void {
  const { perMinute, tokens, countedAt } = bucket;
  // Ignore a clock that was set back.
  const passed = Math.max(0, time - countedAt);
  bucket.tokens = Math.min(perMinute, tokens + (passed * perMinute) / MINUTE_MS);
  bucket.countedAt = time;
}

export type SharedBucket = {
  readonly name: string;
  /** The size, and the refill per minute. */
  perMinute: number;
  tokens: number;
  countedAt: number;
  /** Used tokens that are not reported yet. */
  unreported: number;
  /** Requested tokens since the last report, including rejected requests. */
  demand: number;
  lease: { tokens: number; granted: number; endsAt: number; isShort: boolean; askedAt: number };
};

/** Min size of a lease, as a share of the limit. */
const LEASE_SHARE = 0.05;
/** Lifetime of a lease in the process: shorter than in the database. */
const LEASE_MS = 2000;
/** Max delay of a report that is not urgent. */
const REPORT_MS = 1000;
/** Min time between two statements. */
const PAUSE_MS = 50;
/**
 * The database counts as unavailable after half a second without a response. Counted in steps, not in time: after a pause of
 * this process, a response that has already arrived is read first.
 */
const PATIENCE_STEPS = 10;
const PATIENCE_STEP_MS = 50;
/** Max buckets per statement. */
const MAX_REPORTS = 500;

type Reporter = {
  /** Reports these and all other due buckets as soon as possible; resolves with the leases or if the database is unavailable. */
  requestLeases: (buckets: readonly SharedBucket[]) => Promise<void>;
  reportNow: (bucket: SharedBucket) => void;
  /** Reports within about a second. */
  reportSoon: (bucket: SharedBucket) => void;
  isUnavailable: () => boolean;
};

export type ReporterDeps = {
  lease: Lease;
  /** Receives database errors other than outages. */
  logError: (error: unknown) => void;
  /** A monotonic clock. */
  now: () => number;
};

/** A reporter that runs one statement at a time, and no timer while there is nothing to report. */
export function makeReporter({ lease, logError, now }: ReporterDeps): Reporter {
  const due = new Set<SharedBucket>();
  let isUnavailable = false;
  let sentAt = Number.NEGATIVE_INFINITY;
  let last = Promise.resolve();
  /** The next statement, which reports everything that is due when it is sent. */
  let next: Promise<void> | undefined;

  async function send(): Promise<void> {
    await last;
    // Sleep even without a pause, so that concurrent requests share a statement.
    await Bun.sleep(Math.max(0, sentAt + PAUSE_MS - now()));
    sentAt = now();
    next = undefined;
    if (due.size === 0) return;
    last = exchangeDue(sentAt);
    await last;
    if (due.size > 0 && !isUnavailable) void report();
  }

  async function exchangeDue(askedAt: number): Promise<void> {
    const sent = [...due].slice(0, MAX_REPORTS).map(toSent);
    for (const { bucket } of sent) due.delete(bucket);
    try {
      const leases = await lease(sent.map(({ report }) => report));
      for (const sentReport of sent)
        settle(sentReport, leases.get(sentReport.report.name), { askedAt, time: now() });
      isUnavailable = false;
    } catch (error) {
      logError(error);
      isUnavailable = true;
      // Report again with the next statement.
      for (const { bucket } of sent) due.add(bucket);
    }
  }

  function report(): Promise<void> {
    next ??= send();
    return next;
  }
  const reportLater = makeDelayed(() => void report(), REPORT_MS);

  return {
    isUnavailable: () => isUnavailable,
    requestLeases: async (buckets) => {
      for (const bucket of buckets) due.add(bucket);
      if (!(await endsInTime(report()))) isUnavailable = true;
    },
    reportNow: (bucket) => {
      due.add(bucket);
      void report();
    },
    reportSoon: (bucket) => {
      due.add(bucket);
      reportLater();
    },
  };
}

/** Debounces `run`: calls within `delayMs` of the first call become one run. Does not keep the process alive. */
function makeDelayed(run: () => void, delayMs: number): () => void {
  let isTimed = false;
  return () => {
    if (isTimed) return;
    isTimed = true;
    setTimeout(() => {
      isTimed = false;
      run();
    }, delayMs).unref();
  };
}

async function endsInTime(work: Promise<void>): Promise<boolean> {
  let hasEnded = false;
  const end = work.then(() => {
    hasEnded = true;
  });
  for (let step = 0; step < PATIENCE_STEPS && !hasEnded; step++)
    await Promise.race([end, Bun.sleep(PATIENCE_STEP_MS)]);
  return hasEnded;
}

type Sent = { bucket: SharedBucket; report: Report; demand: number };

function toSent(bucket: SharedBucket): Sent {
  const { name, perMinute, unreported: spent, demand } = bucket;
  const wanted = Math.min(perMinute, Math.max(1, Math.ceil(perMinute * LEASE_SHARE), 2 * demand));
  return { bucket, report: { name, perMinute, spent, wanted }, demand };
}

/** Applies a lease, minus the tokens that were used while the statement ran. */
function settle(
  { bucket, report, demand }: Sent,
  response: Leased | undefined,
  { askedAt, time }: { askedAt: number; time: number },
): void {
  if (response === undefined || bucket.perMinute !== report.perMinute) return;
  bucket.unreported -= report.spent;
  bucket.demand -= demand;
  // A single process never allows more than the limit, even if the database grants more.
  refill(bucket, time);
  bucket.tokens = Math.min(bucket.tokens, response.left - bucket.unreported);
  bucket.lease = {
    tokens: response.leased - bucket.unreported,
    granted: response.leased,
    endsAt: askedAt + LEASE_MS,
    isShort: response.leased < report.wanted,
    askedAt,
  };
}

/** A process's used and requested tokens of a bucket. */
type Report = { name: string; perMinute: number; spent: number; wanted: number };
/** The tokens that are leased to a process, and the tokens that are left for all processes. */
type Leased = { leased: number; left: number };

/** Leases by bucket name. @throws {Error} the database is unavailable */
type Lease = (reports: readonly Report[]) => Promise<ReadonlyMap<string, Leased>>;

/** A separate queue, so that leases and other queries do not wait for each other. */
const LEASE_QUEUE = "leases";

/** The functions that lease tokens: for requests, and for the time of queries that no index serves. */
type LeaseFunction = "lease_tokens" | "lease_unindexed";

/** Leases for the process with the given id, a UUID. */
export function makeLease(
  db: Database,
  processId: string,
  name: LeaseFunction = "lease_tokens",
): Lease {
  return async (reports) => {
    const rows = await call(
      db,
      name,
      {
        reporter: processId,
        names: reports.map(({ name }) => name),
        limits: reports.map(({ perMinute }) => perMinute),
        spent: reports.map(({ spent }) => spent),
        wanted: reports.map(({ wanted }) => wanted),
      },
      { queue: LEASE_QUEUE },
    );
    return new Map(rows.map((row) => [row.bucket, { leased: row.leased, left: row.left_over }]));
  };
}

/** Deletes buckets and leases that no process has used recently. */
export async function sweepLeases({ db }: { db: Database }): Promise<boolean> {
  await call(db, "sweep_leases", {}, { queue: LEASE_QUEUE });
  return false;
}
