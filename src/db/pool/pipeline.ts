/**
 * Pipelining for short reads: sends each statement on one of a few connections before earlier statements have results,
 * which saves most system calls and wake-ups. Each statement is its own transaction.
 *
 * No result is trusted. It is delivered only if each of its rows repeats the request's echo; otherwise (no rows, an error,
 * a timeout) the caller repeats the read on an exclusive connection. Nothing is ever canceled here, because a cancellation
 * could hit another caller's statement.
 *
 * @module
 */

import { Acquirer, type AcquirerOptions, type PoolStats } from "./acquire.ts";
import { makeAvoided } from "./avoided.ts";
import type { Connection, Statement } from "./connection.ts";
import { hasEcho } from "./echo.ts";
import type { Work } from "./run.ts";
import type { Ticker, Ticking } from "./ticker.ts";

// Sends statements on shared connections with a short wait: a caller that waits longer continues
// without a result, and nothing is canceled. A statement that delays later statements, such as one
// that waits for a lock, keeps its queue off shared connections for a while.

type PatientSender = {
  /** The rows; `undefined` after an error or a timeout. */
  readonly send: (statement: Statement, by: Sending) => Promise<unknown[] | undefined>;
  /** Whether a caller has timed out on a connection: it must be discarded. */
  readonly isStuck: (connection: Connection) => boolean;
  /** Whether a queue has recently delayed others. */
  readonly isAvoided: (queue: string) => boolean;
};

type Sending = { connection: Connection; queue: string };

type Sent = Sending & { ticks: number; leave: () => void };

/** Ticks, not time: after a pause of this process, results that have already arrived are read first. */
const PATIENCE_TICKS = 10;

function makePatientSender(ticker: Ticker): PatientSender {
  /** The statements in progress, in the order of sending. */
  const sent = new Set<Sent>();
  const stuck = new WeakSet<Connection>();
  const avoided = makeAvoided();

  const countTick = (attempt: Sent): void => {
    attempt.ticks++;
    const isOverdue = attempt.ticks > PATIENCE_TICKS;
    if (!isOverdue && attempt.connection.isAlive()) return;
    // The first statement delays all later statements.
    if (isOverdue && !stuck.has(attempt.connection)) avoided.add(attempt.queue);
    if (isOverdue) stuck.add(attempt.connection);
    attempt.leave();
  };
  const ticking: Ticking = {
    tick: () => {
      for (const attempt of [...sent]) countTick(attempt);
    },
  };

  return {
    send: (statement, { connection, queue }) =>
      new Promise((resolve) => {
        const end = (rows: unknown[] | undefined): void => {
          if (sent.delete(attempt) && sent.size === 0) ticker.remove(ticking);
          resolve(rows);
        };
        const leave = (): void => end(undefined);
        const attempt: Sent = { connection, queue, ticks: 0, leave };
        if (sent.size === 0) ticker.add(ticking);
        sent.add(attempt);
        connection.send(statement).then(end, leave);
      }),
    isStuck: (connection) => stuck.has(connection),
    isAvoided: (queue) => avoided.has(queue),
  };
}

export type PipelineOptions = Omit<AcquirerOptions, "acquireMs"> & {
  /** Called when a result did not match its request, which must never happen; it was not delivered. */
  onMismatch?: (() => void) | undefined;
};

export type Pipeline = {
  /**
   * The rows that certainly belong to this statement, which repeats the echo; `undefined` if there are none, and the caller
   * must repeat the read on an exclusive connection. Never rejects.
   */
  readonly ask: (
    statement: Statement,
    call: Work["call"],
    echo: string,
  ) => Promise<unknown[] | undefined>;
  readonly stats: () => PoolStats;
  readonly countChanges: (changes: number) => void;
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
export function countPipelines({ connections, isPipelined = false }: PipelineOptions): number {
  if (!isPipelined) return 0;
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
    ask: async (statement, call, echo) => {
      const { queue, lane, caller, meter } = call;
      if (sender.isAvoided(queue)) return undefined;
      const pending = acquirer.acquire(queue, { caller, lane });
      // The caller's own attempt reports why there is no connection.
      const connection =
        pending instanceof Promise ? await pending.catch(() => undefined) : pending;
      if (connection === undefined) return undefined;
      const startedAt = performance.now();
      const rows = await sender.send(statement, { connection, queue });
      if (meter !== undefined) meter.dbMs += performance.now() - startedAt;
      const isOwn = rows !== undefined && hasEcho(rows, echo);
      if (rows !== undefined && rows.length > 0 && !isOwn) {
        // Closes the connection immediately, so that all other reads on it are repeated, too.
        connection.end();
        options.onMismatch?.();
      }
      const isAlive = connection.isAlive();
      acquirer.release(call, connection, !isAlive || sender.isStuck(connection));
      return isOwn && isAlive ? rows : undefined;
    },
    stats: () => acquirer.stats(),
    countChanges: (changes) => acquirer.countChanges(changes),
    close: (timeoutS) => acquirer.close(timeoutS),
  };
}

export function addStats(pool: PoolStats, pipelines: readonly PoolStats[]): PoolStats {
  const sum = { ...pool };
  for (const { open, busy, connecting, waiting } of pipelines) {
    sum.open += open;
    sum.busy += busy;
    sum.connecting += connecting;
    sum.waiting += waiting;
    // Callers that a pipeline rejects continue with the pool.
  }
  return sum;
}
