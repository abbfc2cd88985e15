/**
 * The guard: holds the database to its isolation while the service serves. A service whose database no longer keeps apps
 * apart refuses their requests until it does. Never mends what it finds.
 *
 * @module
 */
import { findIsolationFaults } from "../catalog/mod.ts";
import { coalesce, type Database } from "../db/mod.ts";
import { type Log, noteFault } from "../observe.ts";
import { isOutage, Problem } from "../problem.ts";

export type Guard = {
  /** Looks now; what it finds counts at once. Rejects where nothing can be found out: the last verdict grows old. */
  readonly look: () => Promise<readonly string[]>;
  /**
   * Done at once, but looks first where there is no verdict or one that is too old to count.
   *
   * @throws {Problem} unavailable — the database does not keep apps apart, or it cannot be found out whether it does
   */
  readonly check: () => Promise<void>;
  readonly stop: () => void;
};

export const LOOK_INTERVAL_MS = 10_000;
/** How long a verdict counts: six looks that failed. After that the database is not known to keep apps apart. */
export const MAX_AGE_MS = 60_000;

/** What a guard works with; `now` is of a clock that nobody sets. */
export type GuardDeps = {
  db: Database;
  log: Log;
  now: () => number;
  /** Default {@linkcode LOOK_INTERVAL_MS}. */
  lookIntervalMs?: number | undefined;
};

/** A guard that looks on demand and every ten seconds. */
export function makeGuard({ db, log, now, lookIntervalMs = LOOK_INTERVAL_MS }: GuardDeps): Guard {
  let faults: readonly string[] | undefined;
  let foundAt = Number.NEGATIVE_INFINITY;
  const look = coalesce(async () => {
    const startedAt = now();
    const found = await findIsolationFaults(db);
    for (const fault of found)
      if (faults?.includes(fault) !== true) log("error", "isolation broken", { message: fault });
    if (found.length === 0 && faults !== undefined && faults.length > 0)
      log("info", "isolation holds again");
    faults = found;
    foundAt = startedAt;
    return faults;
  });
  const timer = setInterval(() => {
    look().catch(noteFault(log, "the look at the isolation"));
  }, lookIntervalMs);
  timer.unref();
  return {
    look,
    check: async () => {
      const isUnknown = faults === undefined || now() - foundAt > MAX_AGE_MS;
      refuseBroken(isUnknown ? await look().catch(refuseUnknown) : (faults ?? []));
    },
    stop: () => clearInterval(timer),
  };
}

function refuseBroken(faults: readonly string[]): void {
  if (faults.length > 0) throw stopped(undefined);
}

/** An outage tells of itself; whatever else keeps the guard from looking is no reason to trust. */
function refuseUnknown(error: unknown): never {
  throw isOutage(error) ? error : stopped(error);
}

function stopped(cause: unknown): Problem {
  return new Problem("unavailable", {
    message: "The service has stopped serving: its operator must look at the log",
    retryAfterS: 60,
    cause,
  });
}
