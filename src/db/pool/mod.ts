/**
 * The shared pool for all modules. A call is one statement in one implicit transaction, with values as parameters, a time
 * limit, and an exclusive connection; nothing here begins a transaction or sets session state. A call that certainly had
 * no effect is retried; otherwise the outcome is reported as unknown. Short reads are first pipelined on a few
 * connections. While no connection is free, short writes share one: see `sharing.ts`.
 *
 * @module
 */
import type { Lane } from "../../std/fair_queue.ts";
import type { PoolStats } from "./acquire.ts";
import type { Touched } from "./affinity.ts";
import type { Parameter } from "./connection.ts";
import { makeEcho } from "./echo.ts";
import { type Grouping, type GroupOptions, Groups } from "./groups.ts";
import { type NodePoolsOptions, openNodePools, openPool, type PoolOptions } from "./node_pools.ts";
import { addStats } from "./pipeline.ts";
import type { Pipelines, ReadLength } from "./pipelines.ts";
import { ACQUIRE_LIMIT_MS, type RunParts, run, type Work } from "./run.ts";
import type { Caller } from "./statement.ts";
import { makeTicker } from "./ticker.ts";

/** The queue of the service's own statements: versions, keys, people. Apps have their own queues. */
export const SERVICE_QUEUE = "service";

export type CallOptions = {
  /**
   * Whether the statement can run twice: `safe` if a repetition is harmless; `unsafe` if after a lost connection its
   * outcome is unknown.
   */
  retry: "safe" | "unsafe";
  /** The waiting caller, such as the request: once its signal is aborted, the statement is canceled in the database. */
  caller?: Caller;
  /** The queue of the call: an app's id, or {@linkcode SERVICE_QUEUE}. */
  queue: string;
  /** The part of the queue, such as the person: one lane never uses up its queue. */
  lane?: Lane | undefined;
  /** Whether the statement calls a function of an app: the app's node can serve it directly. The queue is then the app's id. */
  isOfApp?: boolean;
  /** For a call of a table's function: this function, and those that it calls. */
  touched?: readonly Touched[] | undefined;
  /** Sums up the database's time. */
  meter?: { dbMs: number };
};

export type ReadOptions = CallOptions & {
  /**
   * For a read that can be pipelined, its expected duration: slow reads would delay the others. The last column of its text
   * is {@linkcode echoColumn}, for a parameter after the call's own parameters.
   */
  length?: ReadLength | undefined;
};

type BytesOptions = ReadOptions & {
  /** Allows the pool to send several calls with the same key together. */
  grouping?: Grouping | undefined;
  /** For a short write: see {@linkcode Work.brief}. */
  brief?: string | undefined;
  /** A time limit that is shorter than the pool's. */
  limitMs?: number | undefined;
};

export type Database = {
  /** The rows of one prepared statement; its text is constant, every value a parameter. */
  readonly query: <Row>(
    text: string,
    parameters: readonly Parameter[],
    options: ReadOptions,
  ) => Promise<Row[]>;
  /**
   * The first value of the only row, as the bytes from the database: for a text, its UTF-8. `null` if there is no value,
   * or no row.
   */
  readonly bytes: (
    text: string,
    parameters: readonly Parameter[],
    options: BytesOptions,
  ) => Promise<Bytes | null>;
  /**
   * Sends several statements as one message, which is one transaction; returns the rows of the last statement. Waits in
   * {@linkcode SERVICE_QUEUE} unless another queue is given.
   */
  readonly message: <Row>(text: string, options?: MessageOptions) => Promise<Row[]>;
  /** An unavailable node of several: a statement for all nodes would wait for this node. */
  readonly findSilentNode: () => string | undefined;
  readonly stats: () => PoolStats;
  /**
   * Counts sets of functions that pushes have changed. A session keeps the plans of functions that were replaced, so it is
   * replaced after many changes.
   */
  readonly countChanges: (changes: number) => void;
  /** Ends the pool: waits at most `timeoutS` seconds for statements in progress. */
  readonly close: (timeoutS?: number) => Promise<void>;
};

type Bytes = Uint8Array<ArrayBuffer>;

type MessageOptions = { timeoutMs?: number; queue?: string };

export { echoColumn } from "./echo.ts";

type OwnOptions = "acquireMs" | "callersPerConnection" | "isPipelined" | "system" | "ticker";
export type DatabaseOptions = Omit<PoolOptions, OwnOptions> &
  Pick<NodePoolsOptions, "onNodeUnavailable"> &
  GroupOptions & {
    /** Max connections to each of the nodes; with 0, the default, all calls go through the coordinator. */
    nodeConnections?: number;
    /** Time limit of a query in milliseconds; defaults to {@linkcode EXECUTION_LIMIT_MS}. */
    limitMs?: number;
  };

/** Maximum execution time, the service's documented limit. */
export const EXECUTION_LIMIT_MS = 30_000;
const MAX_ATTEMPTS = 3;

/** A pool for one connection string. Opening it does not connect. */
export function openDatabase(options: DatabaseOptions): Database {
  const { prepare, nodes, nodeConnections = 0, limitMs = EXECUTION_LIMIT_MS } = options;
  const ticker = makeTicker();
  const poolOptions = { ...options, acquireMs: ACQUIRE_LIMIT_MS, ticker };
  const pool = openPool(poolOptions);
  const nodePools =
    nodes === undefined || nodeConnections === 0
      ? undefined
      : openNodePools({ ...poolOptions, nodes, connections: nodeConnections });
  const { acquirer, pipelines } = pool;
  const { onMismatch } = options;
  const whole = { acquirer, pipelines, ticker, nodes, onMismatch };
  const route = ({ queue, isOfApp }: CallOptions): Parts => {
    const nodePool = isOfApp === true ? nodePools?.find(queue) : undefined;
    return nodePool === undefined ? whole : { ...whole, ...nodePool, coordinator: acquirer };
  };
  const groups = new Groups(whole, options);
  const limits = { limitMs, attempts: MAX_ATTEMPTS };
  return {
    query: async <Row>(text: string, parameters: readonly Parameter[], call: ReadOptions) => {
      const statement = { text, parameters, prepare, isRaw: false };
      return await read<Row>(route(call), { statement, call, ...limits });
    },
    bytes: async (text, parameters, call) => {
      const { grouping } = call;
      const work = {
        statement: { text, parameters, prepare, isRaw: true },
        call,
        brief: call.brief,
        ...limits,
        limitMs: Math.min(limitMs, call.limitMs ?? limitMs),
      };
      if (grouping !== undefined) return await groups.send({ ...work, grouping });
      const [row] = await read<RawRow>(route(call), work);
      return row?.[0] ?? null;
    },
    message: async <Row>(
      text: string,
      { timeoutMs = EXECUTION_LIMIT_MS, queue = SERVICE_QUEUE }: MessageOptions = {},
    ) =>
      lastResult(
        await run<Row>(whole, {
          statement: { text, parameters: undefined, prepare: false, isRaw: false },
          call: { retry: "unsafe", queue },
          limitMs: timeoutMs,
          attempts: 1,
        }),
      ),
    findSilentNode: () => nodes?.findSilent(),
    stats: () => addNodeStats(pool.stats(), nodePools?.stats() ?? []),
    countChanges: (changes) => {
      pool.countChanges(changes);
      nodePools?.countChanges(changes);
    },
    close: async (timeoutS = 5) => {
      await Promise.all([pool.close(timeoutS), nodePools?.close(timeoutS)]);
    },
  };
}

/** If a node's pool rejects a call, the call fails, unless the node is unavailable: then it goes through the coordinator. */
function addNodeStats(pool: PoolStats, nodes: readonly PoolStats[]): PoolStats {
  const shed = { ...pool.shed };
  for (const node of nodes)
    for (const reason of ["queue_full", "full", "waited"] as const)
      shed[reason] += node.shed[reason];
  return { ...addStats(pool, nodes), shed };
}

/** The driver's values are views of its receive buffer. */
type RawRow = [value?: Bytes | null];

type Parts = RunParts & { pipelines: Pipelines };

type ReadWork = Work & {
  statement: { parameters: readonly Parameter[] };
  call: { length?: ReadLength | undefined };
};

/** Pipelines a read if possible; without a verified result, repeats it on an exclusive connection. */
async function read<Row>(parts: Parts, work: ReadWork): Promise<Row[]> {
  const { statement, call } = work;
  if (call.length === undefined) return await run<Row>(parts, work);
  const echo = makeEcho();
  const echoed = { ...statement, parameters: [...statement.parameters, echo] };
  const rows = await parts.pipelines.find(call.length)?.ask(echoed, call, echo);
  return rows === undefined
    ? await run<Row>(parts, { ...work, statement: echoed })
    : (rows as Row[]);
}

/** Several statements return a list of results, one returns its rows. */
function lastResult<Row>(results: Row[]): Row[] {
  const last = results.at(-1);
  return Array.isArray(last) ? (last as Row[]) : results;
}

/** The rows. Uses the service's own queue; the statement can be sent twice. */
export async function readRows<Row>(
  db: Pick<Database, "query">,
  text: string,
  values: readonly Parameter[] = [],
): Promise<Row[]> {
  return await db.query<Row>(text, values, { retry: "safe", queue: SERVICE_QUEUE });
}

/** The value of the only column of the only row. */
export async function readValue<Value>(
  db: Pick<Database, "query">,
  text: string,
  values: readonly Parameter[] = [],
): Promise<Value> {
  const [row] = await readRows<Record<string, Value>>(db, text, values);
  const [value] = Object.values(row ?? {});
  if (value === undefined) throw new Error(`No row: ${text}`);
  return value;
}
