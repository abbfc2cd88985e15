/**
 * One connection: its own driver over its own socket, discarded at the first fault, so that nothing of a broken connection
 * can reach the next caller. The only file that knows the driver. A caller sends one statement at a time, unless the
 * connection is for pipelining.
 *
 * @module
 */
import { connect, type Socket } from "node:net";
import postgres from "postgres";

/** A value that PostgreSQL gets as a parameter: never `undefined`, which would hang the connection behind a pooler. */
export type Parameter = string | number | boolean | null | Date | Uint8Array | readonly string[];

export type Statement = {
  text: string;
  /** `undefined`: the text may contain several statements, sent as one message. */
  parameters: readonly Parameter[] | undefined;
  prepare: boolean;
  /** Rows as lists of raw bytes, not as objects. */
  isRaw: boolean;
};

/** A statement's result: settles when the server is ready again, which is after its commit. */
export type Pending = Promise<unknown[]>;

export type Connection = {
  readonly send: (statement: Statement) => Pending;
  /** Asks the database to cancel a statement; resolves when the request was accepted, whatever its effect. */
  readonly cancel: (pending: Pending) => Promise<void>;
  readonly isAlive: () => boolean;
  /** Called once if the connection is lost without having been ended. */
  onLost: () => void;
  /** When it was opened and last used, in milliseconds of `performance.now`. */
  readonly openedAt: number;
  usedAt: number;
  /** Ends the session; if the server does not react, the socket is destroyed. */
  readonly end: () => void;
};

export type ConnectionOptions = {
  url: string;
  prepare: boolean;
  name: string;
  /**
   * Whether statements are sent before those in front of them are answered, each of them a transaction of its own. An answer
   * must then be compared with its request by whoever sent it.
   */
  isPipelined?: boolean;
  /** Called with what a statement says while it runs. */
  onNotice?: ((text: string) => void) | undefined;
};

/** How long connecting, signing in and a first answer may take. */
const CONNECT_LIMIT_MS = 3000;
const GOODBYE_LIMIT_MS = 1000;
const KEEP_ALIVE_MS = 15_000;

/** The number of the driver patch that this release was tested with: patches/README.md. */
const WANTED_PATCH = 5;

/**
 * Whether the running driver is the patched one. Without the patch nothing is prepared or pipelined, a connection ends at its
 * first failed statement, and a lost connection is reported less precisely.
 */
export function isDriverPatched(): boolean {
  return Reflect.get(postgres, "rowhousePatch") === WANTED_PATCH;
}

/**
 * A connection that has answered once.
 *
 * @throws {Error} the driver's or the socket's own, with its code
 */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  let socket: Socket | undefined;
  let lost = false;
  let ended = false;
  const sql = postgres(options.url, {
    ...toAddress(options.url),
    max: 1,
    prepare: options.prepare,
    fetch_types: false,
    max_lifetime: null,
    connect_timeout: CONNECT_LIMIT_MS / 1000,
    // A connection is never reopened: a reconnect waits so long that it never happens.
    backoff: () => 3600,
    onnotice: ({ message = "" }) => options.onNotice?.(message),
    connection: { application_name: options.name },
    ...toDriverOptions(options, (parsed) =>
      dial(parsed).then((dialled) => {
        // The first socket is the connection's own; later ones carry a cancellation.
        socket ??= dialled;
        return dialled;
      }),
    ),
    onclose: () => {
      lost = true;
      if (!ended) connection.onLost();
      // What was sent meanwhile would wait in the driver for a connection that never comes.
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
    // The driver as published sends other values when it sends a prepared statement again.
    const query = sql.unsafe(text, values, toQueryOptions(prepare && isPatched, parameters));
    return isRaw ? query.raw() : query;
  };
  const connection: Connection = {
    send: (statement) => {
      const query = makeQuery(statement);
      // The driver as published counts the rows of a failed statement into the next result.
      if (!isPatched) query.catch(end);
      return query;
    },
    cancel,
    isAlive: () => !lost && !ended && socket?.destroyed === false,
    onLost: () => undefined,
    openedAt: performance.now(),
    usedAt: performance.now(),
    end,
  };
  try {
    await within(CONNECT_LIMIT_MS, sql.unsafe("select 1"));
    return connection;
  } catch (error) {
    end();
    socket?.destroy();
    throw error;
  }
}

/** What the driver knows of the rows of a statement: the process that it was told at sign-in, and the name that it gave. */
export function readOrigin(rows: unknown[]): { pid: number | undefined; statement: string } {
  const { state, statement } = rows as Partial<postgres.RowList<postgres.Row[]>>;
  return { pid: state?.pid, statement: statement?.name ?? "" };
}

/** What the driver must be told explicitly, because for anything missing it reads PG* environment variables. */
function toAddress(url: string): { username: string; password: string; database: string } {
  const { username, password, pathname } = new URL(url);
  return {
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  };
}

type Parsed = { host: string[]; port: number[]; path: string | false };

/** More than are ever sent at once: callers limit themselves. */
const MAX_PIPELINE = 1000;

/** Options that the driver knows but its types do not. */
function toDriverOptions(
  { isPipelined = false }: ConnectionOptions,
  socket: (parsed: Parsed) => Promise<Socket>,
): object {
  return { socket, max_pipeline: isPipelined ? MAX_PIPELINE : 0, no_subscribe: true };
}

/**
 * A statement that is neither prepared nor `direct` is described first, which is a round trip of its own. Only a list's type
 * does not follow from its value.
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
/** Known to the patched driver only. */
const DIRECT = { prepare: false, direct: true };

/** A connected socket to the first host that accepts one. */
async function dial({ host, port, path }: Parsed): Promise<Socket> {
  const addresses = path
    ? [{ path }]
    : host.map((name, index) => ({ host: name, port: port[index] ?? port[0] ?? 5432 }));
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await dialOne(address);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function dialOne(address: { path: string } | { host: string; port: number }): Promise<Socket> {
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
 * The driver's own `cancel()` drops the promise of its cancelling connection, and its rejection would end the process when
 * the database is away: its canceller is called here instead.
 */
async function cancel(pending: Pending): Promise<void> {
  const canceller: unknown = Reflect.get(pending, "canceller");
  if (typeof canceller !== "function") return;
  Reflect.set(pending, "canceller", null);
  // If the cancellation does not arrive, the statement ends at its own time limit.
  await Promise.resolve(canceller(pending)).catch(() => undefined);
}

async function within<Result>(limitMs: number, promise: Promise<Result>): Promise<Result> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(withCode("CONNECT_TIMEOUT")), limitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code });
}
