/**
 * The shared pool, as the rooms see it. A call is one statement, one implicit transaction, with values as parameters,
 * bounded in time, on a connection of its own; nothing here begins a transaction or sets session state. What certainly
 * did not happen is tried again; what may have happened is said to be unknown.
 *
 * @module
 */
import type { Connection, Parameter, Statement } from "./connection.ts";
import { type End, exchange } from "./exchange.ts";
import { type Members, makeMembers, type PoolStats } from "./members.ts";
import { isWorthAnother, toDatabaseError } from "./sqlstate.ts";

export type CallOptions = {
  /** `read`: a lost connection means nothing happened. `write`: it may have. */
  effect: "read" | "write";
  /** Aborted when the caller has gone: the statement is cancelled in the database. */
  signal?: AbortSignal;
  /** Whose queue the call waits in: an app's id. Default: the house's own. */
  lane?: string;
  /** Where the time that the database takes is added up. */
  meter?: { dbMs: number };
};

export type Database = {
  /** The rows of one prepared statement; its text is constant, every value a parameter. */
  readonly query: <Row>(
    text: string,
    parameters: readonly Parameter[],
    options: CallOptions,
  ) => Promise<Row[]>;
  /** The last statement's rows of several statements sent as one message, which is one transaction. */
  readonly message: <Row>(text: string, options?: { timeoutMs?: number }) => Promise<Row[]>;
  readonly stats: () => PoolStats;
  /** Ends the pool: waits at most `timeoutS` seconds for statements under way. */
  readonly close: (timeoutS?: number) => Promise<void>;
};

export type DatabaseOptions = {
  url: string;
  /** Connections at the most. */
  connections: number;
  /** Off behind a pooler that does not know protocol-level prepared statements (PgBouncer before 1.21). */
  prepare: boolean;
  /** What the server shows as application_name. */
  name: string;
  /** Milliseconds that a query may take; default {@linkcode EXECUTION_LIMIT_MS}. */
  limitMs?: number;
};

/** Execution time at the most, the service's documented limit. */
export const EXECUTION_LIMIT_MS = 30_000;
/** The longest wait for a connection. */
const ACQUIRE_LIMIT_MS = 3000;
const MOST_ATTEMPTS = 3;
const PAUSE_MS = 20;

type Work = {
  statement: Statement;
  effect: CallOptions["effect"];
  lane: string;
  signal: AbortSignal | undefined;
  meter: { dbMs: number } | undefined;
  limitMs: number;
  attempts: number;
};

/** A pool over one connection string. Opening it connects to nothing. */
export function openDatabase(options: DatabaseOptions): Database {
  const { prepare, limitMs = EXECUTION_LIMIT_MS } = options;
  const members = makeMembers({ ...options, acquireMs: ACQUIRE_LIMIT_MS });
  return {
    query: <Row>(text: string, parameters: readonly Parameter[], call: CallOptions) =>
      run<Row>(members, {
        statement: { text, parameters, prepare },
        effect: call.effect,
        lane: call.lane ?? "",
        signal: call.signal,
        meter: call.meter,
        limitMs,
        attempts: MOST_ATTEMPTS,
      }),
    message: async <Row>(text: string, { timeoutMs = EXECUTION_LIMIT_MS } = {}) =>
      lastResult(
        await run<Row>(members, {
          statement: { text, parameters: undefined, prepare: false },
          effect: "write",
          lane: "",
          signal: undefined,
          meter: undefined,
          limitMs: timeoutMs,
          attempts: 1,
        }),
      ),
    stats: members.stats,
    close: (timeoutS = 5) => members.close(timeoutS),
  };
}

async function run<Row>(members: Members, work: Work): Promise<Row[]> {
  const askedAt = performance.now();
  let startedAt: number | undefined;
  for (let attempt = 1; ; attempt++) {
    const taken = members.take(work.lane, work.signal);
    const connection = taken instanceof Promise ? await taken : taken;
    startedAt ??= performance.now();
    const spentMs = performance.now() - startedAt;
    const end = await attemptOn(members, connection, { work, spentMs });
    if ("rows" in end) return end.rows as Row[];
    const call = { effect: work.effect, ...end, isEarly: isEarly(startedAt, work) };
    // Who has waited that long already is told, and not made to wait once more.
    const isPatient = performance.now() - askedAt < ACQUIRE_LIMIT_MS;
    if (attempt >= work.attempts || !isPatient || !isWorthAnother(call, attempt))
      throw toDatabaseError(end.error, call);
    await Bun.sleep(Math.random() * PAUSE_MS * attempt);
  }
}

async function attemptOn(
  members: Members,
  connection: Connection,
  { work, spentMs }: { work: Work; spentMs: number },
): Promise<End> {
  const limitMs = Math.max(work.limitMs - spentMs, 1);
  const sentAt = performance.now();
  const end = await exchange(connection, work.statement, { limitMs, signal: work.signal });
  if (work.meter !== undefined) work.meter.dbMs += performance.now() - sentAt;
  members.giveBack(work.lane, connection, end.isSuspect);
  return end;
}

/** Whether a statement was cancelled well before its limit: by nobody's wish, then, and not by the server's own limit. */
function isEarly(startedAt: number, { limitMs }: Work): boolean {
  return performance.now() - startedAt < limitMs * 0.9;
}

/** Several statements give a list of results, one gives its rows. */
function lastResult<Row>(results: Row[]): Row[] {
  const last = results.at(-1);
  return Array.isArray(last) ? (last as Row[]) : results;
}
