/**
 * The shared pool, as the rooms see it. A call is one statement, one implicit transaction, with values as parameters,
 * bounded in time, on a connection of its own; nothing here begins a transaction or sets session state. What certainly
 * did not happen is tried again; what may have happened is said to be unknown.
 *
 * @module
 */
import type { Parameter, Statement } from "./connection.ts";
import { type Caller, exchange } from "./exchange.ts";
import { type Members, makeMembers, type PoolStats } from "./members.ts";
import { makeRounds, type Rounds } from "./rounds.ts";
import { isWorthAnother, toDatabaseError } from "./sqlstate.ts";

export type CallOptions = {
  /** `read`: a lost connection means nothing happened. `write`: it may have. */
  effect: "read" | "write";
  /** Who waits, such as the request: once its signal is aborted, the statement is cancelled in the database. */
  caller?: Caller;
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
  /**
   * The one value of one row, as the bytes that the database sent: of a text, its UTF-8. `null` where there is no
   * value, or no row.
   */
  readonly bytes: (
    text: string,
    parameters: readonly Parameter[],
    options: CallOptions,
  ) => Promise<Uint8Array<ArrayBuffer> | null>;
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
  /** Told when there is no connection left and none can be made, with what the last attempt met; and when there is. */
  onAway?: (cause: unknown) => void;
  onThere?: () => void;
};

/** Execution time at the most, the service's documented limit. */
export const EXECUTION_LIMIT_MS = 30_000;
/** The longest wait for a connection. */
const ACQUIRE_LIMIT_MS = 3000;
const MOST_ATTEMPTS = 3;
const PAUSE_MS = 20;

type Work = { statement: Statement; call: CallOptions; limitMs: number; attempts: number };

/** A pool over one connection string. Opening it connects to nothing. */
export function openDatabase(options: DatabaseOptions): Database {
  const { prepare, limitMs = EXECUTION_LIMIT_MS } = options;
  const rounds = makeRounds();
  const means = {
    members: makeMembers({ ...options, acquireMs: ACQUIRE_LIMIT_MS, rounds }),
    rounds,
  };
  const limits = { limitMs, attempts: MOST_ATTEMPTS };
  return {
    query: <Row>(text: string, parameters: readonly Parameter[], call: CallOptions) =>
      run<Row>(means, {
        statement: { text, parameters, prepare, isRaw: false },
        call,
        ...limits,
      }),
    bytes: async (text, parameters, call) => {
      const statement = { text, parameters, prepare, isRaw: true };
      const work = { statement, call, ...limits };
      const [row] = await run<[Uint8Array<ArrayBuffer> | null]>(means, work);
      return row?.[0] ?? null;
    },
    message: async <Row>(text: string, { timeoutMs = EXECUTION_LIMIT_MS } = {}) =>
      lastResult(
        await run<Row>(means, {
          statement: { text, parameters: undefined, prepare: false, isRaw: false },
          call: { effect: "write" },
          limitMs: timeoutMs,
          attempts: 1,
        }),
      ),
    stats: means.members.stats,
    close: (timeoutS = 5) => means.members.close(timeoutS),
  };
}

type Means = { members: Members; rounds: Rounds };

async function run<Row>({ members, rounds }: Means, work: Work): Promise<Row[]> {
  const { lane = "", caller, meter, effect } = work.call;
  const askedAt = performance.now();
  let startedAt: number | undefined;
  for (let attempt = 1; ; attempt++) {
    const taken = members.take(lane, caller);
    const connection = taken instanceof Promise ? await taken : taken;
    const sentAt = performance.now();
    startedAt ??= sentAt;
    const limitMs = Math.max(work.limitMs - (sentAt - startedAt), 1);
    const end = await exchange(connection, work.statement, { limitMs, caller, rounds });
    if (meter !== undefined) meter.dbMs += performance.now() - sentAt;
    members.giveBack(lane, connection, end.isSuspect);
    if ("rows" in end) return end.rows as Row[];
    const failure = { effect, ...end, isEarly: isEarly(startedAt, work) };
    // Who has waited that long already is told, and not made to wait once more.
    const isPatient = performance.now() - askedAt < ACQUIRE_LIMIT_MS;
    if (attempt >= work.attempts || !isPatient || !isWorthAnother(failure, attempt))
      throw toDatabaseError(end.error, failure);
    await Bun.sleep(Math.random() * PAUSE_MS * attempt);
  }
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
