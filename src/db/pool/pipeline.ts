/**
 * Pipelining for short reads: sends each statement on one of a few connections before earlier statements have results,
 * which saves most system calls and wake-ups. Each statement is its own transaction.
 *
 * No result is trusted. It is delivered only if it repeats the request's echo and its content matches the call; otherwise
 * (no rows, an error, a timeout) the caller repeats the read on an exclusive connection. Nothing is ever canceled here,
 * because a cancellation could hit another caller's statement.
 *
 * @module
 */
import { Acquirer, type AcquirerOptions, type PoolStats } from "./acquire.ts";
import { isDriverPatched, type Parameter, type Statement } from "./connection.ts";
import { makePatientSender } from "./patient_sender.ts";
import type { Work } from "./run.ts";

export type PipelineOptions = Omit<AcquirerOptions, "acquireMs"> & {
  /** Called when a result did not match its request, which must never happen; it was not delivered. */
  onMismatch?: (() => void) | undefined;
};

/** A statement whose last parameter is an echo, which its result repeats. */
export type EchoedStatement = Statement & { parameters: readonly Parameter[] };

/** Compares a result with its request; `undefined` if it has no rows. */
export type Compare = (rows: unknown[]) => Compared | undefined;

export type Compared = {
  echo: string | undefined;
  /** Whether the content matches the call; `undefined` if there is no content. */
  isOwn: boolean | undefined;
};

export type Pipeline = {
  /**
   * The rows that certainly belong to this statement; `undefined` if there are none, and the caller must repeat the read
   * on an exclusive connection. Never rejects.
   */
  readonly ask: (
    statement: EchoedStatement,
    call: Work["call"],
    compare: Compare,
  ) => Promise<unknown[] | undefined>;
  readonly stats: () => PoolStats;
  readonly close: (timeoutS: number) => Promise<void>;
};

/** The share of connections for pipelining, up to a limit: more connections would not be faster. */
const CONNECTIONS_PER_PIPELINE = 5;
const MAX_PIPELINES = 4;
/** Max callers of a connection; the last caller waits for a millisecond or two. */
const CALLERS_PER_CONNECTION = 32;
/** The share of these connections that one queue can use. */
const SHARE = 0.75;
/** Max wait for a shared connection before the caller waits for an exclusive one. */
const ACQUIRE_MS = 200;

/** How many of a pool's connections are for pipelining. */
export function countPipelines(connections: number): number {
  if (!isDriverPatched()) return 0;
  return Math.min(MAX_PIPELINES, Math.floor(connections / CONNECTIONS_PER_PIPELINE));
}

export function makePipeline(options: PipelineOptions): Pipeline {
  const acquirer = new Acquirer({
    ...options,
    callersPerConnection: CALLERS_PER_CONNECTION,
    share: Math.ceil(options.connections * CALLERS_PER_CONNECTION * SHARE),
    acquireMs: ACQUIRE_MS,
  });
  const sender = makePatientSender(options.ticker);
  return {
    ask: async (statement, call, compare) => {
      const { queue, caller, meter } = call;
      if (sender.isAvoided(queue)) return undefined;
      const pending = acquirer.acquire(queue, caller);
      // The caller's own attempt reports why there is no connection.
      const connection =
        pending instanceof Promise ? await pending.catch(() => undefined) : pending;
      if (connection === undefined) return undefined;
      const startedAt = performance.now();
      const rows = await sender.send(statement, { connection, queue });
      if (meter !== undefined) meter.dbMs += performance.now() - startedAt;
      const verdict = rows === undefined ? "unknown" : evaluate(rows, statement, compare);
      if (verdict === "mismatch") {
        // Closes the connection immediately, so that all other reads on it are repeated, too.
        connection.end();
        options.onMismatch?.();
      }
      const isAlive = connection.isAlive();
      acquirer.release(queue, connection, !isAlive || sender.isStuck(connection));
      return verdict === "own" && isAlive ? rows : undefined;
    },
    stats: () => acquirer.stats(),
    close: (timeoutS) => acquirer.close(timeoutS),
  };
}

/** Returns whether a result belongs to the call, belongs to another call, or allows no decision. */
function evaluate(
  rows: unknown[],
  { parameters }: EchoedStatement,
  compare: Compare,
): "own" | "mismatch" | "unknown" {
  const found = compareSafely(rows, compare);
  if (found === undefined) return "unknown";
  if (found.echo !== parameters.at(-1)) return "mismatch";
  if (found.isOwn === undefined) return "unknown";
  return found.isOwn ? "own" : "mismatch";
}

/** A result that was corrupted in transit can have a shape that cannot be compared. */
function compareSafely(rows: unknown[], compare: Compare): Compared | undefined {
  try {
    return compare(rows);
  } catch {
    return undefined;
  }
}

export function addStats(pool: PoolStats, pipelines: readonly PoolStats[]): PoolStats {
  const sum = { ...pool };
  for (const { open, busy, connecting, waiting } of pipelines) {
    sum.open += open;
    // Many callers share each of these connections.
    sum.busy += Math.min(busy, open);
    sum.connecting += connecting;
    sum.waiting += waiting;
    // Callers that a pipeline rejects continue with the pool.
  }
  return sum;
}

const PROCESS = crypto.randomUUID();
let echoes = 0;

/** Makes an echo that no other call of any process has. */
export function makeEcho(): string {
  echoes++;
  return `${PROCESS}-${echoes}`;
}

/** The column that repeats the echo, by the position of the echo's parameter. */
export function echoColumn(position: number): string {
  return `$${position}::pg_catalog.text as echo`;
}
