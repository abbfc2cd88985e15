/**
 * Short reads, pipelined: sent on few connections, each before the statements in front of it are answered, which
 * saves most system calls and wake-ups. Each is a transaction of its own.
 *
 * No answer is trusted. It is delivered only if it repeats the request's echo and its content is the caller's; anything else
 * (nothing found, an error, silence) is asked again by the caller on a connection of its own. Nothing is ever
 * canceled here, because a cancellation could meet another caller's statement.
 *
 * @module
 */
import { Acquirer, type AcquirerOptions, type PoolStats } from "./acquire.ts";
import { isDriverPatched, type Parameter, type Statement } from "./connection.ts";
import { makePatientSender } from "./patient_sender.ts";
import type { Caller } from "./statement.ts";

export type PipelineOptions = Omit<AcquirerOptions, "acquireMs"> & {
  /** Called when an answer was not the one to its request, which must never happen; it was not delivered. */
  onMismatch?: (() => void) | undefined;
};

/** A statement whose last parameter is an echo, which its answer repeats. */
export type EchoedStatement = Statement & { parameters: readonly Parameter[] };

export type PipelinedCall = {
  queue: string;
  caller?: Caller | undefined;
  meter?: { dbMs: number } | undefined;
};

/** Compares an answer with its request; `undefined` if it has no rows. */
export type Compare = (rows: unknown[]) => Compared | undefined;

export type Compared = {
  /** The echo in the answer. */
  echo: string | undefined;
  /** Whether its content is what was asked for; `undefined` if there is none. */
  isOwn: boolean | undefined;
};

export type Pipeline = {
  /**
   * The rows that certainly answer this statement; `undefined` if there are none, and it has to be sent on a connection of its
   * own. Never rejects.
   */
  readonly ask: (
    statement: EchoedStatement,
    call: PipelinedCall,
    compare: Compare,
  ) => Promise<unknown[] | undefined>;
  readonly stats: () => PoolStats;
  readonly close: (timeoutS: number) => Promise<void>;
};

/** One in so many connections is for pipelining, up to a few: more would not be faster. */
const CONNECTIONS_PER_PIPELINE = 5;
const MAX_PIPELINES = 4;
/** So few that the last one waits for a millisecond or two. */
const CALLERS_PER_CONNECTION = 32;
/** What one queue may use of them. */
const SHARE = 0.75;
/** How long a caller waits for a connection here before it waits for one of its own. */
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
      const taken = acquirer.acquire(queue, caller);
      // Why there is no connection, the caller's own attempt will report.
      const connection = taken instanceof Promise ? await taken.catch(() => undefined) : taken;
      if (connection === undefined) return undefined;
      const startedAt = performance.now();
      const rows = await sender.send(statement, { connection, queue });
      if (meter !== undefined) meter.dbMs += performance.now() - startedAt;
      const answer = rows === undefined ? "unknown" : judge(rows, statement, compare);
      if (answer === "mismatch") {
        // Ended at once: whatever else was sent on it is asked again, too.
        connection.end();
        options.onMismatch?.();
      }
      const isAlive = connection.isAlive();
      acquirer.release(queue, connection, !isAlive || sender.isStuck(connection));
      return answer === "own" && isAlive ? rows : undefined;
    },
    stats: () => acquirer.stats(),
    close: (timeoutS) => acquirer.close(timeoutS),
  };
}

/** Whether an answer is the call's, is certainly another's, or does not tell. */
function judge(
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

/** What was changed on its way may have no shape that can be compared. */
function compareSafely(rows: unknown[], compare: Compare): Compared | undefined {
  try {
    return compare(rows);
  } catch {
    return undefined;
  }
}

/** The figures of a pool and of its pipelines as one. */
export function addStats(pool: PoolStats, pipelines: readonly PoolStats[]): PoolStats {
  const sum = { ...pool };
  for (const { open, busy, connecting, waiting } of pipelines) {
    sum.open += open;
    // Many callers share each of these connections.
    sum.busy += Math.min(busy, open);
    sum.connecting += connecting;
    sum.waiting += waiting;
    // Whoever a pipeline turns away goes on to the pool.
  }
  return sum;
}

const PROCESS = crypto.randomUUID();
let echoes = 0;

/** Another one for every call of every process. */
export function makeEcho(): string {
  echoes++;
  return `${PROCESS}-${echoes}`;
}

/** The column by which a statement repeats its echo, with its place among the parameters. */
export function echoColumn(place: number): string {
  return `$${place}::pg_catalog.text as echo`;
}
