/**
 * One connection: its own driver over its own socket, discarded at the first error, so that no state of a broken
 * connection reaches the next caller. The only file that knows the driver. A caller sends one statement at a time, unless
 * the connection is for pipelining.
 *
 * @module
 */
import { connect, type Socket } from "node:net";
import postgres from "postgres";
import type { Warning } from "../node_errors.ts";
import { type Memory, makeMemory } from "./affinity.ts";

/** A parameter for PostgreSQL: never `undefined`, which would hang the connection behind a pooler. */
export type Parameter = string | number | boolean | null | Date | Uint8Array | readonly string[];

export type Statement = {
  text: string;
  /** `undefined`: the text can contain several statements, sent as one message. */
  parameters: readonly Parameter[] | undefined;
  prepare: boolean;
  /** Rows as lists of raw bytes, not as objects. */
  isRaw: boolean;
};

/** A statement's result: settles when the server is ready again, after its commit. */
export type Pending = Promise<unknown[]>;

export type Connection = {
  readonly send: (statement: Statement) => Pending;
  /** Asks the database to cancel a statement; resolves once the request was accepted, even if it has no effect. */
  readonly cancel: (pending: Pending) => Promise<void>;
  readonly isAlive: () => boolean;
  /** Whether no byte of a statement was sent: the driver keeps statements back, for example until an earlier one is described. */
  readonly isUnsent: (pending: Pending) => boolean;
  /** The last warning of the last statement. On a connection for pipelining, it can belong to any statement. */
  readonly readWarning: () => Warning | undefined;
  /** Called once if the connection is lost unexpectedly. */
  onLost: () => void;
  /** When the connection was opened and last used, in milliseconds of `performance.now`. */
  readonly openedAt: number;
  usedAt: number;
  /** How many more changes of tables' functions the session lasts: see `MIN_CHANGES`. */
  changesLeft: number;
  /** The lowest number that no other connection of its pool had when it opened. */
  slot: number;
  readonly memory: Memory;
  /** Ends the session; if the server does not respond, the socket is destroyed. */
  readonly end: () => void;
};

export type ConnectionOptions = {
  url: string;
  /** Whether to prepare statements. Set it to false behind a pooler that does not track them (PgBouncer before 1.21). */
  prepare: boolean;
  /** The server's application_name. */
  name: string;
  /** PostgreSQL's identifier of the server; no other server is accepted. Unset: any server. */
  system?: string | undefined;
  /**
   * Whether to send statements before earlier statements have results; each is its own transaction. The sender must then
   * compare each result with its request.
   */
  isPipelined?: boolean;
  /** Called with a statement's notices while it runs, such as its progress. */
  onNotice?: ((text: string) => void) | undefined;
};

/** Time limit for connecting, signing in and a first response. */
const CONNECT_LIMIT_MS = 3000;
const GOODBYE_LIMIT_MS = 1000;
const KEEP_ALIVE_MS = 15_000;

/** The number of the driver patch that this release was tested with: patches/README.md. */
const WANTED_PATCH = 5;

/**
 * Returns whether the driver is patched. Without the patch nothing is prepared or pipelined, a connection ends at its first
 * failed statement, and a lost connection is reported less precisely.
 */
export function isDriverPatched(): boolean {
  return Reflect.get(postgres, "rowhousePatch") === WANTED_PATCH;
}

/**
 * A connection that has responded once.
 *
 * @throws {Error} the driver's or the socket's own, with its code
 */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  let socket: Socket | undefined;
  let lost = false;
  let ended = false;
  let warning: Warning | undefined;
  const sql = postgres(options.url, {
    ...toAddress(options.url),
    max: 1,
    prepare: options.prepare,
    fetch_types: false,
    max_lifetime: null,
    connect_timeout: CONNECT_LIMIT_MS / 1000,
    // The driver must not reconnect: this delay outlasts the connection.
    backoff: () => 3600,
    onnotice: ({ severity, code = "", message = "" }) => {
      if (severity === "WARNING") warning = { code, message };
      options.onNotice?.(message);
    },
    connection: { application_name: options.name },
    ...toDriverOptions(options, (parsed) =>
      dial(parsed).then((dialed) => {
        // The first socket is the connection's own; later ones carry a cancellation.
        socket ??= dialed;
        return dialed;
      }),
    ),
    onclose: () => {
      lost = true;
      if (!ended) connection.onLost();
      // Later statements would wait in the driver for a connection that never opens.
      end();
    },
  });
  const end = () => {
    if (ended) return;
    ended = true;
    setTimeout(() => socket?.destroy(), GOODBYE_LIMIT_MS).unref();
    sql.end({ timeout: 0 }).catch(() => socket?.destroy());
  };
  const isPatched = isDriverPatched();
  const makeQuery = ({ text, parameters, prepare, isRaw }: Statement) => {
    if (parameters === undefined) return sql.unsafe(text);
    const values = [...parameters] as postgres.ParameterOrJSON<never>[];
    // The unpatched driver sends other values when it repeats a prepared statement.
    const query = sql.unsafe(text, values, toQueryOptions(prepare && isPatched, parameters));
    return isRaw ? query.raw() : query;
  };
  const connection: Connection = {
    send: (statement) => {
      warning = undefined;
      const query = makeQuery(statement);
      // The unpatched driver adds the rows of a failed statement to the next result.
      if (!isPatched) query.catch(end);
      return query;
    },
    cancel,
    // The driver stores the session in a statement when it sends it.
    isUnsent: (pending) => Reflect.get(pending, "state") === null,
    isAlive: () => !lost && !ended && socket?.destroyed === false,
    readWarning: () => warning,
    onLost: () => undefined,
    openedAt: performance.now(),
    usedAt: performance.now(),
    changesLeft: Number.POSITIVE_INFINITY,
    slot: 0,
    memory: makeMemory(),
    end,
  };
  try {
    const { system } = options;
    const query =
      system === undefined ? sql.unsafe("select 1") : sql.unsafe(IS_SYSTEM, [system], DIRECT);
    const found = await within(CONNECT_LIMIT_MS, query);
    if (found.length === 0) throw withCode("OTHER_SERVER");
    return connection;
  } catch (error) {
    end();
    socket?.destroy();
    throw error;
  }
}

/** A query that returns a row only on the expected server. */
const IS_SYSTEM = `select 1 from pg_catalog.pg_control_system()
where system_identifier::pg_catalog.text = $1::pg_catalog.text`;

/** The driver's data about a statement: the process id from the sign-in, and the statement's name. */
export function readOrigin(rows: unknown[]): { pid: number | undefined; statement: string } {
  const { state, statement } = rows as Partial<postgres.RowList<postgres.Row[]>>;
  return { pid: state?.pid, statement: statement?.name ?? "" };
}

/** Explicit driver options, because the driver reads PG* environment variables for missing options. */
function toAddress(url: string): { username: string; password: string; database: string } {
  const { username, password, pathname } = new URL(url);
  return {
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  };
}

type Parsed = { host: string[]; port: number[]; path: string | false };

/** Above any number of statements in progress: callers have their own limits. */
const MAX_PIPELINE = 1000;

/** Driver options that its types lack. */
function toDriverOptions(
  { isPipelined = false }: ConnectionOptions,
  socket: (parsed: Parsed) => Promise<Socket>,
): object {
  return { socket, max_pipeline: isPipelined ? MAX_PIPELINE : 0, no_subscribe: true };
}

/**
 * The driver first describes a statement that is neither prepared nor `direct`, which costs a round trip. With `direct`, it
 * infers types from values, except for lists.
 */
function toQueryOptions(
  prepare: boolean,
  parameters: readonly Parameter[],
): postgres.UnsafeQueryOptions {
  if (prepare) return PREPARED;
  return parameters.some((value) => Array.isArray(value)) ? UNPREPARED : DIRECT;
}
const PREPARED = { prepare: true };
const UNPREPARED = { prepare: false };
/** Only in the patched driver. */
const DIRECT = { prepare: false, direct: true };

/** A connected socket to the first host that accepts one. */
async function dial({ host, port, path }: Parsed): Promise<Socket> {
  const addresses = path
    ? [{ path }]
    : host.map((name, index) => ({ host: name, port: port[index] ?? port[0] ?? 5432 }));
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await dialAddress(address);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function dialAddress(address: { path: string } | { host: string; port: number }): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(address);
    const timer = setTimeout(() => {
      reject(withCode("CONNECT_TIMEOUT"));
      socket.destroy();
    }, CONNECT_LIMIT_MS);
    socket.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.removeAllListeners("error");
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      // The driver verifies a certificate against this name.
      Reflect.set(socket, "host", "host" in address ? address.host : address.path);
      resolve(socket);
    });
  });
}

/**
 * Calls the driver's canceler directly: `cancel()` of the driver drops the promise of the canceling connection, and an
 * unhandled rejection would end the process while the database is unavailable.
 */
async function cancel(pending: Pending): Promise<void> {
  const canceller: unknown = Reflect.get(pending, "canceller");
  if (typeof canceller !== "function") return;
  Reflect.set(pending, "canceller", null);
  // If the cancellation is lost, the statement ends at its own time limit.
  await Promise.resolve(canceller(pending)).catch(() => undefined);
}

async function within<Result>(limitMs: number, promise: Promise<Result>): Promise<Result> {
  let timer: Timer | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(withCode("CONNECT_TIMEOUT")), limitMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code });
}
