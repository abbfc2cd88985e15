/**
 * The shared pool: the only file that knows the driver. A call is one statement, one implicit transaction, with
 * values as parameters, bounded in time; nothing here begins a transaction or sets session state.
 *
 * @module
 */
import postgres from "postgres";
import { toDatabaseError } from "./sqlstate.ts";

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
};

/** Execution time at the most, the service's documented limit. */
export const EXECUTION_LIMIT_MS = 30_000;
const CONNECT_TIMEOUT_S = 3;
/** Short and constant: a database that is back is found again within half a second. */
const RECONNECT_DELAY_S = 0.25;

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
  return {
    query: (text, parameters, call) =>
      settle(
        sql.unsafe(text, [...parameters] as postgres.ParameterOrJSON<never>[], {
          prepare: options.prepare,
        }),
        call,
      ),
    message: async (text, { timeoutMs = EXECUTION_LIMIT_MS } = {}) =>
      lastResult(await settle(sql.unsafe(text), { effect: "write", timeoutMs })),
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

/** The query's rows, or its failure in the house's words; cancelled in the database at the limit or on abort. */
async function settle<Row>(
  pending: postgres.PendingQuery<postgres.Row[]>,
  call: CallOptions & { timeoutMs?: number },
): Promise<Row[]> {
  let timedOut = false;
  const cancel = () => pending.cancel();
  const timer = setTimeout(() => {
    timedOut = true;
    cancel();
  }, call.timeoutMs ?? EXECUTION_LIMIT_MS);
  call.signal?.addEventListener("abort", cancel, { once: true });
  try {
    return (await pending) as unknown as Row[];
  } catch (error) {
    throw toDatabaseError(error, { effect: call.effect, timedOut });
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener("abort", cancel);
  }
}

/** Several statements give a list of results, one gives its rows. */
function lastResult<Row>(results: Row[]): Row[] {
  const last = results.at(-1);
  return Array.isArray(last) ? (last as Row[]) : results;
}
