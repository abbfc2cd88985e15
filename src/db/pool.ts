/**
 * The shared pool: the only file that knows the driver. A call is one statement, one implicit transaction, with
 * values as parameters, bounded in time; nothing here begins a transaction or sets session state.
 *
 * @module
 */
import postgres from "postgres";
import { readCode, SilenceError, toDatabaseError } from "./sqlstate.ts";

/** A value that PostgreSQL gets as a parameter: never `undefined`, which would hang the connection behind a pooler. */
export type Parameter = string | number | boolean | null | Date | Uint8Array | readonly string[];

export type CallOptions = {
  /** `read`: a lost connection means nothing happened. `write`: it may have. */
  effect: "read" | "write";
  /** Aborted when the caller has gone: the statement is cancelled in the database. */
  signal?: AbortSignal;
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
const CONNECT_TIMEOUT_S = 3;
/** Short and constant: a database that is back is found again within half a second. */
const RECONNECT_DELAY_S = 0.25;

/** How often a query is sent at the most when it lost against another one. */
const MOST_ATTEMPTS = 3;
const LOST_RACES = new Set(["40001", "40P01"]);
const CANCELLED = "57014";
/** How long a cancelled query may go on before its caller is answered without it. */
const CANCEL_GRACE_MS = 1000;

/** A query waits for a connection of its own, never behind somebody's slow one. (The driver's types lack this option.) */
const NO_PIPELINE = { max_pipeline: 0 };

/** A pool over one connection string. Opening it connects to nothing. */
export function openDatabase(options: DatabaseOptions): Database {
  const sql = postgres(options.url, {
    max: options.connections,
    prepare: options.prepare,
    connect_timeout: CONNECT_TIMEOUT_S,
    backoff: () => RECONNECT_DELAY_S,
    fetch_types: false,
    ...NO_PIPELINE,
    onnotice: () => undefined,
    connection: { application_name: options.name },
    ...toAddress(options.url),
  });
  const limitMs = options.limitMs ?? EXECUTION_LIMIT_MS;
  return {
    query: (text, parameters, call) =>
      run(
        () =>
          sql.unsafe(text, [...parameters] as postgres.ParameterOrJSON<never>[], {
            prepare: options.prepare,
          }),
        { ...call, limitMs, attempts: MOST_ATTEMPTS },
      ),
    message: async (text, { timeoutMs = EXECUTION_LIMIT_MS } = {}) =>
      lastResult(
        await run(() => sql.unsafe(text), { effect: "write", limitMs: timeoutMs, attempts: 1 }),
      ),
    close: (timeoutS = 5) => sql.end({ timeout: timeoutS }),
  };
}

/** What the driver must be told outright, because it reads PG* variables of the environment for what is missing. */
function toAddress(url: string): { username: string; password: string; database: string } {
  const { username, password, pathname } = new URL(url);
  return {
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  };
}

type Run = CallOptions & { limitMs: number; attempts: number };
type Pending = postgres.PendingQuery<postgres.Row[]>;
type End<Row> = { rows: Row[] } | { error: unknown; timedOut: boolean; isAsked: boolean };

/**
 * The query's rows, or its failure in the house's words. What PostgreSQL rolled back for no fault of the statement is
 * sent again: a statement is its own transaction, so nothing of it is left.
 */
async function run<Row>(send: () => Pending, call: Run): Promise<Row[]> {
  for (let attempt = 1; ; attempt++) {
    const end = await settle<Row>(send(), call);
    if ("rows" in end) return end.rows;
    if (attempt >= call.attempts || !isWorthAnother(end, attempt))
      throw toDatabaseError(end.error, { effect: call.effect, timedOut: end.timedOut });
  }
}

/** Lost against another statement; or hit by a cancellation that was meant for the connection's statement before. */
function isWorthAnother(end: { error: unknown; isAsked: boolean }, attempt: number): boolean {
  const code = readCode(end.error);
  return LOST_RACES.has(code) || (code === CANCELLED && !end.isAsked && attempt === 1);
}

/** Waits for a query; cancels it in the database at the limit or on abort, and gives up where no answer comes. */
async function settle<Row>(pending: Pending, call: Run): Promise<End<Row>> {
  let timedOut = false;
  let timer: Timer | undefined;
  const abort = () => void cancel(pending);
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      timedOut = true;
      const giveUp = () => reject(new SilenceError());
      if (cancel(pending)) timer = setTimeout(giveUp, CANCEL_GRACE_MS);
      else giveUp();
    }, call.limitMs);
  });
  call.signal?.addEventListener("abort", abort, { once: true });
  try {
    return { rows: (await Promise.race([pending, silence])) as unknown as Row[] };
  } catch (error) {
    return { error, timedOut, isAsked: timedOut || call.signal?.aborted === true };
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener("abort", abort);
  }
}

/**
 * Cancels a query that is not settled; whether it was sent, so that there is something to cancel. Two faults of the
 * driver's own `cancel()` are kept away: it drops the promise of its cancelling connection, whose rejection ends the
 * process when the database is away; and a query cancelled while its connection opens takes that connection with it.
 */
function cancel(pending: Pending): boolean {
  const canceller: unknown = Reflect.get(pending, "canceller");
  if (typeof canceller !== "function" || Reflect.get(pending, "state") === null) return false;
  Reflect.set(pending, "canceller", null);
  Promise.resolve(canceller(pending)).catch(() => undefined); // the query's own end tells all
  return true;
}

/** Several statements give a list of results, one gives its rows. */
function lastResult<Row>(results: Row[]): Row[] {
  const last = results.at(-1);
  return Array.isArray(last) ? (last as Row[]) : results;
}
