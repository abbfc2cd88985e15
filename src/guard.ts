/**
 * The guard: holds the database to its isolation while the house serves. A house whose database no longer keeps apps
 * apart refuses their requests until it does. Never mends what it finds.
 *
 * @module
 */
import { coalesce, type Database, findIsolationFaults } from "./db/mod.ts";
import type { Log } from "./observe.ts";
import { Problem } from "./problem.ts";

export type Guard = {
  /** Looks now; what it finds counts at once. Rejects while the database is away, which changes nothing. */
  readonly look: () => Promise<readonly string[]>;
  /**
   * Done at once but for the first time, when nobody has looked yet.
   *
   * @throws {Problem} unavailable — the database does not keep apps apart
   */
  readonly check: () => void | Promise<void>;
  readonly stop: () => void;
};

const LOOK_INTERVAL_MS = 10_000;

/** A guard that looks on demand and every ten seconds. */
export function makeGuard({ db, log }: { db: Database; log: Log }): Guard {
  let faults: readonly string[] | undefined;
  const look = coalesce(async () => {
    const found = await findIsolationFaults(db);
    for (const fault of found)
      if (faults?.includes(fault) !== true) log("error", "isolation broken", { message: fault });
    if (found.length === 0 && faults !== undefined && faults.length > 0)
      log("info", "isolation holds again");
    faults = found;
    return faults;
  });
  const timer = setInterval(() => {
    // An outage is the requests' to report.
    look().catch(() => undefined);
  }, LOOK_INTERVAL_MS);
  timer.unref();
  return {
    look,
    check: () => (faults === undefined ? look().then(refuseBroken) : refuseBroken(faults)),
    stop: () => clearInterval(timer),
  };
}

function refuseBroken(faults: readonly string[]): void {
  if (faults.length === 0) return;
  throw new Problem("unavailable", {
    message: "The service has stopped itself: its operator must look at the log",
    headers: { "retry-after": "60" },
  });
}
