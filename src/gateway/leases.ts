/**
 * Leases of tokens from the buckets that all processes share: what was taken is reported to the database, which answers with
 * leases. One statement at a time, of as many buckets as are due; while there is nothing to report, nothing is sent.
 * @see shared_buckets.ts
 *
 * @module
 */
import { call, type Database } from "../db/mod.ts";

export type Bucket = { tokens: number; countedAt: number };

export const MINUTE_MS = 60_000;

/** Refills a bucket up to a time; `perMinute` is both its size and its refill per minute. */
export function refill(bucket: Bucket, perMinute: number, time: number): void {
  // A clock that was set back changes nothing.
  const passed = Math.max(0, time - bucket.countedAt);
  bucket.tokens = Math.min(perMinute, bucket.tokens + (passed * perMinute) / MINUTE_MS);
  bucket.countedAt = time;
}

export type SharedBucket = Bucket & {
  readonly name: string;
  perMinute: number;
  /** Taken, and not yet reported. */
  unreported: number;
  /** Asked for since the last report, refused requests included. */
  demand: number;
  lease: { tokens: number; granted: number; endsAt: number; isShort: boolean; askedAt: number };
};

/** The least that is leased at a time, as a share of the limit. */
const LEASE_SHARE = 0.05;
/** How long a lease is used: shorter than the database keeps it. */
const LEASE_MS = 2000;
/** The longest delay of a report that is not urgent. */
const REPORT_MS = 1000;
/** The shortest time between two statements. */
const PAUSE_MS = 50;
/**
 * After half a second without an answer the database counts as away. Steps, not time: after a pause of this process an answer
 * that is already there is read first.
 */
const PATIENCE_STEPS = 10;
const PATIENCE_STEP_MS = 50;
/** The most buckets in one statement. */
const MAX_REPORTS = 500;

export type Reporter = {
  /** Reports these, and what else is due, as soon as it may; resolves when the leases are there, or the database away. */
  requestLeases: (buckets: readonly SharedBucket[]) => Promise<void>;
  /** As soon as it may. */
  reportNow: (bucket: SharedBucket) => void;
  /** Within about a second. */
  reportSoon: (bucket: SharedBucket) => void;
  isAway: () => boolean;
};

export type ReporterDeps = {
  lease: Lease;
  noteFault: (error: unknown) => void;
  now: () => number;
};

/** A reporter with one statement under way at a time; no timer runs while there is nothing to report. */
export function makeReporter(deps: ReporterDeps): Reporter {
  const { now } = deps;
  const due = new Set<SharedBucket>();
  let isAway = false;
  let sentAt = Number.NEGATIVE_INFINITY;
  let last = Promise.resolve();
  /** The next statement, which reports all that is due when it is sent. */
  let next: Promise<void> | undefined;

  async function send(): Promise<void> {
    await last;
    // Also where there is no need to pause: requests that arrive together ask together.
    await Bun.sleep(Math.max(0, sentAt + PAUSE_MS - now()));
    sentAt = now();
    next = undefined;
    if (due.size === 0) return;
    last = exchangeDue(sentAt);
    await last;
    if (due.size > 0 && !isAway) void report();
  }

  async function exchangeDue(askedAt: number): Promise<void> {
    const sent = [...due].slice(0, MAX_REPORTS).map(toSent);
    for (const { bucket } of sent) due.delete(bucket);
    isAway = !(await exchange(deps, sent, askedAt));
    // Reported again together with what comes.
    if (isAway) for (const { bucket } of sent) due.add(bucket);
  }

  function report(): Promise<void> {
    next ??= send();
    return next;
  }
  const reportLater = makeDelayed(() => void report(), REPORT_MS);

  return {
    isAway: () => isAway,
    requestLeases: async (buckets) => {
      for (const bucket of buckets) due.add(bucket);
      if (!(await endsInTime(report()))) isAway = true;
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

/** A function whose calls within `delayMs` of the first become one run at the end of that time. Keeps no process alive. */
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

/** Sends one statement and settles what it answers; false if the database is away. */
async function exchange(
  { lease, noteFault, now }: ReporterDeps,
  sent: readonly Sent[],
  askedAt: number,
): Promise<boolean> {
  try {
    const leases = await lease(sent.map(({ report }) => report));
    for (const sentReport of sent)
      settle(sentReport, leases.get(sentReport.report.name), { askedAt, time: now() });
    return true;
  } catch (error) {
    noteFault(error);
    return false;
  }
}

function toSent(bucket: SharedBucket): Sent {
  const { name, perMinute, unreported: taken, demand } = bucket;
  const wanted = Math.min(perMinute, Math.max(1, Math.ceil(perMinute * LEASE_SHARE), 2 * demand));
  return { bucket, report: { name, perMinute, taken, wanted }, demand };
}

/** What was taken while the statement was under way is not in the answer. */
function settle(
  { bucket, report, demand }: Sent,
  answer: Leased | undefined,
  { askedAt, time }: { askedAt: number; time: number },
): void {
  if (answer === undefined || bucket.perMinute !== report.perMinute) return;
  bucket.unreported -= report.taken;
  bucket.demand -= demand;
  // Whatever the database says, a process by itself never allows more than the limit.
  refill(bucket, bucket.perMinute, time);
  bucket.tokens = Math.min(bucket.tokens, answer.left - bucket.unreported);
  bucket.lease = {
    tokens: answer.leased - bucket.unreported,
    granted: answer.leased,
    endsAt: askedAt + LEASE_MS,
    isShort: answer.leased < report.wanted,
    askedAt,
  };
}

/** What a process has taken of a bucket, and what it would like to have of it. */
export type Report = { name: string; perMinute: number; taken: number; wanted: number };
/** What it may take from now on, and how much there is for all processes together. */
export type Leased = { leased: number; left: number };

/** The leases by the names of their buckets. @throws {Error} the database is away */
export type Lease = (reports: readonly Report[]) => Promise<ReadonlyMap<string, Leased>>;

/** A queue of its own: whoever waits for a lease does not wait behind pages, nor these behind it. */
const LEASE_QUEUE = "leases";

/** Leases for a process, which is told apart from others by its id, a UUID. */
export function makeLease(db: Database, processId: string): Lease {
  return async (reports) => {
    const rows = await call(
      db,
      "lease_tokens",
      {
        reporter: processId,
        names: reports.map(({ name }) => name),
        limits: reports.map(({ perMinute }) => perMinute),
        taken: reports.map(({ taken }) => taken),
        wanted: reports.map(({ wanted }) => wanted),
      },
      { queue: LEASE_QUEUE },
    );
    return new Map(rows.map((row) => [row.bucket, { leased: row.leased, left: row.left_over }]));
  };
}

/** Forgets buckets and leases that no process has used for a while. */
export async function sweepLeases({ db }: { db: Database }): Promise<boolean> {
  await call(db, "sweep_leases", {}, { queue: LEASE_QUEUE });
  return false;
}
