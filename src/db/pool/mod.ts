/**
 * The shared pool, as the rooms see it. A call is one statement in one implicit transaction, with values as parameters, a
 * time limit, and a connection of its own; nothing here begins a transaction or sets session state. A call that certainly
 * did not happen is retried; if it may have happened, the outcome is reported as unknown. Short reads are
 * pipelined on a few connections first.
 *
 * @module
 */

import { Acquirer, type PoolStats } from "./acquire.ts";
import type { Parameter } from "./connection.ts";
import type { Nodes } from "./nodes.ts";
import { addStats, type Compared, makeEcho } from "./pipeline.ts";
import { openPipelines, type Pipelines, type ReadLength } from "./pipelines.ts";
import { ACQUIRE_LIMIT_MS, type RunParts, run, type Work } from "./run.ts";
import type { Caller } from "./statement.ts";
import { makeTicker } from "./ticker.ts";

/** The queue of the service's own statements: versions, keys, people. Apps wait in queues of their own. */
export const SERVICE_QUEUE = "service";

export type CallOptions = {
  /**
   * Whether the statement may run twice: `safe` if a repetition does no harm; `unsafe` if after a lost connection it may
   * have happened.
   */
  retry: "safe" | "unsafe";
  /** Who waits for the result, such as the request: once its signal is aborted, the statement is canceled in the database. */
  caller?: Caller;
  /** Whose queue the call waits in: an app's id, or {@linkcode SERVICE_QUEUE}. */
  queue: string;
  /** Adds up the time that the database takes. */
  meter?: { dbMs: number };
};

/**
 * A call that may be pipelined: a short read that may run twice. Its text has {@linkcode echoColumn} as its last column,
 * for a parameter after those that it is called with.
 */
export type ReadOptions<Content> = CallOptions & {
  /** Whether what was found is what was asked for, by its own content; `undefined` where that does not tell. */
  isOwn?: ((content: Content) => boolean | undefined) | undefined;
  /** How long it may take: what takes long would hold up the others. Default: as short as a look-up by key. */
  length?: ReadLength | undefined;
};

export type Database = {
  /** The rows of one prepared statement; its text is constant, every value a parameter. */
  readonly query: <Row>(
    text: string,
    parameters: readonly Parameter[],
    options: ReadOptions<Row[]>,
  ) => Promise<Row[]>;
  /**
   * The first value of the only row, as the bytes that the database sent: for a text, its UTF-8. `null` if there is no value,
   * or no row.
   */
  readonly bytes: (
    text: string,
    parameters: readonly Parameter[],
    options: ReadOptions<Bytes>,
  ) => Promise<Bytes | null>;
  /**
   * The rows of the last of several statements, sent as one message, which is one transaction. Waits in
   * {@linkcode SERVICE_QUEUE} unless another queue is named.
   */
  readonly message: <Row>(text: string, options?: MessageOptions) => Promise<Row[]>;
  /** A node of a distributed database that is known not to answer: whatever is for all nodes would wait for it. */
  readonly findSilentNode: () => string | undefined;
  readonly stats: () => PoolStats;
  /** Ends the pool: waits at most `timeoutS` seconds for statements under way. */
  readonly close: (timeoutS?: number) => Promise<void>;
};

type Bytes = Uint8Array<ArrayBuffer>;

export type MessageOptions = { timeoutMs?: number; queue?: string };

export { echoColumn } from "./pipeline.ts";

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
  /** The nodes of a distributed database, as far as they are known. */
  nodes?: Nodes;
  /** Milliseconds that a query may take; default {@linkcode EXECUTION_LIMIT_MS}. */
  limitMs?: number;
  /** Called with what a statement says while it runs, such as how far it is. */
  onNotice?: (text: string) => void;
  /** Called when no connection is left and none can be made, with the error of the last attempt; and when there is one again. */
  onAway?: (cause: unknown) => void;
  onThere?: () => void;
  /** Called when a pipelined answer was not the one to its request, which must never happen; it was not delivered. */
  onMismatch?: () => void;
};

/** Maximum execution time, the service's documented limit. */
export const EXECUTION_LIMIT_MS = 30_000;
const MAX_ATTEMPTS = 3;

/** A pool over one connection string. Opening it connects to nothing. */
export function openDatabase(options: DatabaseOptions): Database {
  const { prepare, nodes, limitMs = EXECUTION_LIMIT_MS } = options;
  const ticker = makeTicker();
  const pipelines = openPipelines({ ...options, name: `${options.name} pipeline`, ticker });
  const acquirer = new Acquirer({
    ...options,
    connections: options.connections - pipelines.connections,
    acquireMs: ACQUIRE_LIMIT_MS,
    ticker,
  });
  const parts = { acquirer, pipelines, ticker, nodes };
  const limits = { limitMs, attempts: MAX_ATTEMPTS };
  return {
    query: async <Row>(
      text: string,
      parameters: readonly Parameter[],
      call: ReadOptions<Row[]>,
    ) => {
      const { isOwn } = call;
      const statement = { text, parameters, prepare, isRaw: false };
      const work = { statement, call, ...limits };
      if (isOwn === undefined) return await run<Row>(parts, work);
      return await read<Row & { echo: string }>(parts, work, (rows) => {
        const echo = rows[0]?.echo;
        return { echo, isOwn: rows.every((row) => row.echo === echo) && isOwn(rows) };
      });
    },
    bytes: async (text, parameters, call) => {
      const { isOwn } = call;
      const work = { statement: { text, parameters, prepare, isRaw: true }, call, ...limits };
      const [row] =
        isOwn === undefined
          ? await run<RawRow>(parts, work)
          : await read<RawRow>(parts, work, (rows) => {
              const [value = null, echo] = rows[0] ?? [];
              return { echo: echo?.toString(), isOwn: value === null ? undefined : isOwn(value) };
            });
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
    findSilentNode: () => nodes?.findSilent(),
    stats: () => addStats(acquirer.stats(), pipelines.stats()),
    close: async (timeoutS = 5) => {
      await Promise.all([acquirer.close(timeoutS), pipelines.close(timeoutS)]);
    },
  };
}

/** The driver's values are views of what it received. */
type RawRow = [value?: Bytes | null, echo?: Buffer];

type Parts = RunParts & { pipelines: Pipelines };

type ReadWork = Work & {
  statement: { parameters: readonly Parameter[] };
  call: { length?: ReadLength | undefined };
};

/** Pipelined if possible; otherwise, and if that gives no answer that is certainly right, on a connection of its own. */
async function read<Row>(
  parts: Parts,
  work: ReadWork,
  compare: (rows: Row[]) => Compared,
): Promise<Row[]> {
  const { statement, call } = work;
  const echoed = { ...statement, parameters: [...statement.parameters, makeEcho()] };
  const pipeline = parts.pipelines.find(call.length ?? "short");
  const rows = await pipeline?.ask(echoed, call, (found) =>
    found.length === 0 ? undefined : compare(found as Row[]),
  );
  return rows === undefined
    ? await run<Row>(parts, { ...work, statement: echoed })
    : (rows as Row[]);
}

/** Several statements give a list of results, one gives its rows. */
function lastResult<Row>(results: Row[]): Row[] {
  const last = results.at(-1);
  return Array.isArray(last) ? (last as Row[]) : results;
}
