/**
 * The shared pool, as the rooms see it. A call is one statement in one implicit transaction, with values as parameters, a
 * time limit, and a connection of its own; nothing here begins a transaction or sets session state. A call that certainly
 * did not happen is retried; if it may have happened, the outcome is reported as unknown.
 *
 * @module
 */

import { isWorthAnother, toDatabaseError } from "../sqlstate.ts";
import { type Acquirer, makeAcquirer, type PoolStats } from "./acquire.ts";
import type { Parameter, Statement } from "./connection.ts";
import { type Caller, runStatement } from "./statement.ts";
import { makeTicker, type Ticker } from "./ticker.ts";

/** The queue of the service's own statements: versions, keys, people. Apps wait in queues of their own. */
export const SERVICE_QUEUE = "service";

export type CallOptions = {
  /**
   * Whether the statement may run twice: `safe` if a repetition does no harm; `unsafe` if after a lost connection it may
   * have happened.
   */
  retry: "safe" | "unsafe";
  /** Who waits for the result, such as the request: once its signal is aborted, the statement is cancelled in the database. */
  caller?: Caller;
  /** Whose queue the call waits in: an app's id, or {@linkcode SERVICE_QUEUE}. */
  queue: string;
  /** Adds up the time that the database takes. */
  meter?: { dbMs: number };
};

export type Database = {
  /** The rows of one prepared statement; its text is constant, every value a parameter. */
  readonly query: <Row>(
    text: string,
    parameters: readonly Parameter[],
    options: CallOptions,
  ) => Promise<Row[]>;
  /**
   * The only value of the only row, as the bytes that the database sent: for a text, its UTF-8. `null` if there is no value,
   * or no row.
   */
  readonly bytes: (
    text: string,
    parameters: readonly Parameter[],
    options: CallOptions,
  ) => Promise<Uint8Array<ArrayBuffer> | null>;
  /**
   * The rows of the last of several statements, sent as one message, which is one transaction. Waits in
   * {@linkcode SERVICE_QUEUE} unless another queue is named.
   */
  readonly message: <Row>(text: string, options?: MessageOptions) => Promise<Row[]>;
  readonly stats: () => PoolStats;
  /** Ends the pool: waits at most `timeoutS` seconds for statements under way. */
  readonly close: (timeoutS?: number) => Promise<void>;
};

export type MessageOptions = { timeoutMs?: number; queue?: string };

export type DatabaseOptions = {
  url: string;
  /** Maximum number of connections. */
  connections: number;
  /** How many connections one queue may use at once; default: all, but in a larger pool never the last one. */
  share?: number;
  /** Off behind a pooler that does not know protocol-level prepared statements (PgBouncer before 1.21). */
  prepare: boolean;
  /** What the server shows as application_name. */
  name: string;
  /** Milliseconds that a query may take; default {@linkcode EXECUTION_LIMIT_MS}. */
  limitMs?: number;
  /** Called when no connection is left and none can be made, with the error of the last attempt; and when there is one again. */
  onAway?: (cause: unknown) => void;
  onThere?: () => void;
};

/** Maximum execution time, the service's documented limit. */
export const EXECUTION_LIMIT_MS = 30_000;
/** The longest wait for a connection. */
const ACQUIRE_LIMIT_MS = 3000;
const MAX_ATTEMPTS = 3;
const PAUSE_MS = 20;

type Work = { statement: Statement; call: CallOptions; limitMs: number; attempts: number };

/** A pool over one connection string. Opening it connects to nothing. */
export function openDatabase(options: DatabaseOptions): Database {
  const { prepare, limitMs = EXECUTION_LIMIT_MS } = options;
  const ticker = makeTicker();
  const parts = {
    acquirer: makeAcquirer({ ...options, acquireMs: ACQUIRE_LIMIT_MS, ticker }),
    ticker,
  };
  const limits = { limitMs, attempts: MAX_ATTEMPTS };
  return {
    query: <Row>(text: string, parameters: readonly Parameter[], call: CallOptions) =>
      run<Row>(parts, {
        statement: { text, parameters, prepare, isRaw: false },
        call,
        ...limits,
      }),
    bytes: async (text, parameters, call) => {
      const statement = { text, parameters, prepare, isRaw: true };
      const work = { statement, call, ...limits };
      const [row] = await run<[Uint8Array<ArrayBuffer> | null]>(parts, work);
      return row?.[0] ?? null;
    },
    message: async <Row>(
      text: string,
      { timeoutMs = EXECUTION_LIMIT_MS, queue = SERVICE_QUEUE }: MessageOptions = {},
    ) =>
      lastResult(
        await run<Row>(parts, {
          statement: { text, parameters: undefined, prepare: false, isRaw: false },
          call: { retry: "unsafe", queue },
          limitMs: timeoutMs,
          attempts: 1,
        }),
      ),
    stats: parts.acquirer.stats,
    close: (timeoutS = 5) => parts.acquirer.close(timeoutS),
  };
}

type Parts = { acquirer: Acquirer; ticker: Ticker };

async function run<Row>({ acquirer, ticker }: Parts, work: Work): Promise<Row[]> {
  const { queue, caller, meter, retry } = work.call;
  const askedAt = performance.now();
  let startedAt: number | undefined;
  for (let attempt = 1; ; attempt++) {
    const taken = acquirer.acquire(queue, caller);
    const connection = taken instanceof Promise ? await taken : taken;
    const sentAt = performance.now();
    startedAt ??= sentAt;
    const limitMs = Math.max(work.limitMs - (sentAt - startedAt), 1);
    const end = await runStatement(connection, work.statement, { limitMs, caller, ticker });
    if (meter !== undefined) meter.dbMs += performance.now() - sentAt;
    acquirer.release(queue, connection, end.isSuspect);
    if ("rows" in end) return end.rows as Row[];
    const failure = { retry, ...end, isEarly: isEarly(startedAt, work) };
    // A caller that has already waited that long gets the error, and does not have to wait again.
    const isPatient = performance.now() - askedAt < ACQUIRE_LIMIT_MS;
    if (attempt >= work.attempts || !isPatient || !isWorthAnother(failure, attempt))
      throw toDatabaseError(end.error, failure);
    await Bun.sleep(Math.random() * PAUSE_MS * attempt);
  }
}

/** Whether a statement was cancelled well before its limit: then neither we nor the server's own limit cancelled it. */
function isEarly(startedAt: number, { limitMs }: Work): boolean {
  return performance.now() - startedAt < limitMs * 0.9;
}

/** Several statements give a list of results, one gives its rows. */
function lastResult<Row>(results: Row[]): Row[] {
  const last = results.at(-1);
  return Array.isArray(last) ? (last as Row[]) : results;
}
