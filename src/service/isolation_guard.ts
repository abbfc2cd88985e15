/**
 * The guard: checks, while the service serves, that the database still keeps apps apart. If it does not, the service
 * refuses apps' requests until it does. Never repairs what it finds.
 *
 * @module
 */
import { makeIsolationLook } from "../catalog/mod.ts";
import { coalesce, type Database, type NodeMap } from "../db/mod.ts";
import { type Log, noteFault } from "../observe.ts";
import { isOutage, Problem } from "../problem.ts";

export type Guard = {
  /** Looks now; the result counts at once. Rejects if the look fails: then the last verdict keeps ageing. */
  readonly look: () => Promise<readonly string[]>;
  /**
   * Returns at once, but looks first if there is no verdict, or one that is too old to count.
   *
   * @throws {Problem} unavailable — the database does not keep apps apart, or this cannot be determined
   */
  readonly check: () => Promise<void>;
  /** What it found last; `undefined` before the first look. */
  readonly judge: () => Judgement | undefined;
  readonly stop: () => void;
};

export type Judgement = { faults: readonly string[]; ageMs: number };

export const LOOK_INTERVAL_MS = 10_000;
/** How long a verdict counts: six failed looks. After that, nobody knows whether the database keeps apps apart. */
export const MAX_AGE_MS = 60_000;

/** What a guard works with; `now` is a monotonic clock. */
export type GuardDeps = {
  db: Database;
  /** Told what the looks find of the nodes of a distributed database. */
  nodes?: NodeMap;
  log: Log;
  now: () => number;
  /** Default {@linkcode LOOK_INTERVAL_MS}. */
  lookIntervalMs?: number | undefined;
};

/** A guard that looks on demand and every ten seconds. */
export function makeGuard(deps: GuardDeps): Guard {
  const { db, nodes, log, now, lookIntervalMs = LOOK_INTERVAL_MS } = deps;
  let faults: readonly string[] | undefined;
  let away: readonly string[] = [];
  let foundAt = Number.NEGATIVE_INFINITY;
  const findIsolation = makeIsolationLook(db, nodes);
  const look = coalesce(async () => {
    const startedAt = now();
    const { faults: found, away: silent } = await findIsolation();
    for (const node of silent)
      if (!away.includes(node)) log("warn", "node away", { message: node });
    for (const node of away)
      if (!silent.includes(node)) log("info", "node answers again", { message: node });
    away = silent;
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
    judge: () => (faults === undefined ? undefined : { faults, ageMs: now() - foundAt }),
    stop: () => clearInterval(timer),
  };
}

function refuseBroken(faults: readonly string[]): void {
  if (faults.length > 0) throw stopped(undefined);
}

/** An outage is reported as such; anything else that prevents the look is no reason to trust the database. */
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
