/**
 * Queries that no index serves: PostgreSQL reads all rows of the app. So that they never stop others, an app runs few of them at a
 * time, each for a short time, and has a part of each minute for them, in all processes together. They use half of a process's
 * connections.
 *
 * A turn is a lock that the statement takes itself, so it ends with the statement, also if the process does. The time is leased as
 * requests are (`db/shared_buckets.ts`). Where an app's queries of a table were quick for a minute, they need no turn and use no time, until
 * one is not.
 *
 * @module
 */
import {
  ACQUIRE_LIMIT_MS,
  makeTurns,
  type SharedBucket,
  type SharedBuckets,
  tooBusy,
  waitSeconds,
} from "../db/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import { Problem, toSentence } from "../problem.ts";
import { BoundedMap } from "../std/bounded.ts";
import { UNINDEXED_A_MINUTE_MS, UNINDEXED_AT_A_TIME, UNINDEXED_TIMEOUT_MS } from "../std/limits.ts";

export type UnindexedLimits = {
  /** Max execution time of a query. */
  readonly timeoutMs: number;
  /** The execution time of an app's queries in a minute; a person can use half of it. */
  readonly msAMinute: number;
};

type UnindexedDeps = {
  /** Of the pool, of which these queries use at most half. */
  readonly connections: number;
  /** The milliseconds that are left, in all processes. */
  readonly buckets: SharedBuckets;
};

type Body = Uint8Array<ArrayBuffer> | null;

export type Unindexed = {
  readonly timeoutMs: number;
  /**
   * The result of a query of a table. Without `freeMs`, the query takes a turn, and has an empty result if other processes have them.
   * With it, the query needs no turn, and is canceled after this time.
   *
   * @throws {UsedUpError}
   * @throws {Problem} rate_limited; overloaded
   */
  readonly run: (
    context: KeyRequestContext,
    table: string,
    query: (freeMs?: number) => Promise<Body>,
  ) => Promise<Body>;
};

/** What takes less of the database's time is quick, and uses up nothing. */
const QUICK_MS = 50;
/** Max time of a query without a turn, which takes a turn after that. */
const FREE_MS = 2 * QUICK_MS;
const MINUTE_MS = 60_000;
/** Max time until a query asks for its turn again: at random, so that no process has more turns than another. */
const PAUSE_MS = 50;
const WAITING = 256;
const WAITING_PER_APP = 64;
/** Apps and tables that the process remembers. */
const REMEMBERED = 10_000;

/** An app, or a person, has used its time. */
export class UsedUpError extends Problem {
  /** Why the query cannot run, within a sentence. */
  readonly reason: string;
  readonly retryAfterS: number;

  constructor({ perMinute }: SharedBucket, retryAfterS: number) {
    const reason = `queries that no index serves have used their ${perMinute / 1000} seconds a minute`;
    super("rate_limited", {
      message: `${toSentence(reason)}: declare an index for them, or narrow them with a condition on an indexed column`,
      retryAfterS,
    });
    this.reason = reason;
    this.retryAfterS = retryAfterS;
  }
}

export function makeUnindexed(
  { connections, buckets }: UnindexedDeps,
  {
    timeoutMs = UNINDEXED_TIMEOUT_MS,
    msAMinute = UNINDEXED_A_MINUTE_MS,
  }: Partial<UnindexedLimits> = {},
): Unindexed {
  const half = Math.max(1, Math.floor(connections / 2));
  const limits = {
    ...{ running: half, waiting: WAITING, waitingPerQueue: WAITING_PER_APP },
    waitMs: ACQUIRE_LIMIT_MS,
  };
  const takeTurn = makeTurns({ ...limits, share: Math.min(UNINDEXED_AT_A_TIME, half) });
  /** With and without a turn, these queries together are on half of the connections. */
  const onHalf = makeTurns({ ...limits, share: half });
  const speeds = new BoundedMap<string, Speed>(REMEMBERED);
  const run: Unindexed["run"] = async (context, table, query) => {
    const { principal, request, meter } = context;
    const { appId, person } = principal;
    const askedAt = performance.now();
    const budgets = [buckets.find(appId, msAMinute)];
    if (person !== undefined) budgets.push(buckets.find(`${appId} ${person.id}`, msAMinute / 2));
    const reject = (empty: SharedBucket | undefined): void => {
      if (empty !== undefined) throw new UsedUpError(empty, waitSeconds(empty));
    };
    reject(budgets.find(({ tokens }) => tokens < 1));

    const key = `${appId} ${table}`;
    const lane = person && { name: person.id };
    const caller = { queue: appId, lane, signal: request.signal };
    const measured = async (freeMs?: number): Promise<Body> => {
      const before = meter.dbMs;
      const tookMs = () => meter.dbMs - before;
      let hasRun = true;
      try {
        const found = await onHalf(caller, () => query(freeMs));
        hasRun = !isEmpty(found);
        const { slowAt = Number.NEGATIVE_INFINITY } = speeds.get(key) ?? {};
        // A query that failed says nothing of the next one: its caller may have left.
        const isQuick = tookMs() < QUICK_MS && performance.now() - slowAt > MINUTE_MS;
        if (hasRun && isQuick) speeds.set(key, { slowAt, isQuick });
        return found;
      } finally {
        if (hasRun && tookMs() >= QUICK_MS) {
          speeds.set(key, { slowAt: performance.now(), isQuick: false });
          for (const budget of budgets) buckets.record(budget, tookMs());
        }
      }
    };

    if (speeds.get(key)?.isQuick === true)
      try {
        return await measured(FREE_MS);
      } catch (error) {
        // PostgreSQL has canceled it, so it had no effect.
        if (!(error instanceof Problem) || error.code !== "timeout") throw error;
      }
    return await takeTurn(caller, async () => {
      // After others of this process, those of other processes are as likely to be next.
      if (performance.now() - askedAt > 1) await pause();
      reject(await buckets.spend(budgets));
      while (!request.signal.aborted && performance.now() - askedAt < ACQUIRE_LIMIT_MS) {
        const found = await measured();
        if (!isEmpty(found)) return found;
        await pause();
      }
      throw tooBusy("waited");
    });
  };
  return { timeoutMs, run };
}

/** Of an app's queries of a table. */
type Speed = { readonly slowAt: number; readonly isQuick: boolean };

/** Whether the query had no turn. */
function isEmpty(found: Body): boolean {
  return found?.byteLength === 0;
}

function pause(): Promise<void> {
  return Bun.sleep(Math.random() * PAUSE_MS);
}
