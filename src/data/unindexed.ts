/**
 * Queries that no index serves: PostgreSQL reads all rows of the app. So that they never stop others, a process runs few of them at a
 * time, each for a short time, and an app has a part of each minute for them. Where the last one of a table was quick, they need no turn.
 *
 * @module
 */
import { ACQUIRE_LIMIT_MS, makeTurns } from "../db/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { BoundedMap } from "../std/bounded.ts";
import { UNINDEXED_A_MINUTE_MS, UNINDEXED_TIMEOUT_MS } from "../std/limits.ts";

export type UnindexedLimits = {
  /** Max execution time of a query. */
  readonly timeoutMs: number;
  /** The execution time of an app's queries in a minute; a person can use half of it. */
  readonly msAMinute: number;
};

export type Unindexed = {
  readonly timeoutMs: number;
  /** The result of a query of a table. @throws {Problem} rate_limited; overloaded */
  readonly run: <Result>(
    context: KeyRequestContext,
    table: string,
    query: () => Promise<Result>,
  ) => Promise<Result>;
};

/** What takes less of the database's time is quick, and uses up nothing. */
const QUICK_MS = 50;
/** Max queries of an app at a time. */
const SHARE = 2;
const WAITING = 256;
const WAITING_PER_APP = 64;
/** Apps and tables that the process remembers. */
const REMEMBERED = 10_000;

/** `connections`: of the pool, of which these queries use at most half. */
export function makeUnindexed(
  connections: number,
  {
    timeoutMs = UNINDEXED_TIMEOUT_MS,
    msAMinute = UNINDEXED_A_MINUTE_MS,
  }: Partial<UnindexedLimits> = {},
): Unindexed {
  const running = Math.max(1, Math.floor(connections / 2));
  const takeTurn = makeTurns({
    ...{ running, share: Math.min(SHARE, running) },
    ...{ waiting: WAITING, waitingPerQueue: WAITING_PER_APP, waitMs: ACQUIRE_LIMIT_MS },
  });
  /** Tables of apps whose last query was quick. */
  const quick = new BoundedMap<string, true>(REMEMBERED);
  const budgets = new BoundedMap<string, Budget>(REMEMBERED);
  const run: Unindexed["run"] = async (context, table, query) => {
    const { principal, request, meter } = context;
    const { appId, person } = principal;
    const spenders = [{ name: appId, msAMinute }];
    if (person !== undefined)
      spenders.push({ name: `${appId} ${person.id}`, msAMinute: msAMinute / 2 });
    const leftOf = ({ name, msAMinute }: Spender) => refill(budgets.get(name), msAMinute);
    for (const spender of spenders) {
      const leftMs = leftOf(spender);
      if (leftMs <= 0) throw usedUp(spender, leftMs);
    }
    const key = `${appId} ${table}`;
    const measured = async () => {
      const before = meter.dbMs;
      const tookMs = () => meter.dbMs - before;
      try {
        const result = await query();
        // A query that failed says nothing of the next one: its caller may have left.
        if (tookMs() < QUICK_MS) quick.set(key, true);
        return result;
      } finally {
        if (tookMs() >= QUICK_MS) {
          quick.delete(key);
          for (const spender of spenders)
            budgets.set(spender.name, {
              leftMs: leftOf(spender) - tookMs(),
              at: performance.now(),
            });
        }
      }
    };
    if (quick.has(key)) return await measured();
    const lane = person && { name: person.id };
    return await takeTurn({ queue: appId, lane, signal: request.signal }, measured);
  };
  return { timeoutMs, run };
}

/** An app, or a person on an app, who can use half of the app's time. */
type Spender = { readonly name: string; readonly msAMinute: number };
/** The time that is left, in milliseconds, below zero if the last query took longer, and when it was. */
type Budget = { readonly leftMs: number; readonly at: number };

const MINUTE_MS = 60_000;

function refill(budget: Budget | undefined, msAMinute: number): number {
  if (budget === undefined) return msAMinute;
  const passedMs = performance.now() - budget.at;
  return Math.min(msAMinute, budget.leftMs + (passedMs * msAMinute) / MINUTE_MS);
}

function usedUp({ msAMinute }: Spender, leftMs: number): Problem {
  return new Problem("rate_limited", {
    message: `Queries that no index serves have used their ${msAMinute / 1000} seconds a minute: declare an index for them, or narrow them with a condition on an indexed column`,
    retryAfterS: Math.max(1, Math.ceil((-leftMs * MINUTE_MS) / msAMinute / 1000)),
  });
}
