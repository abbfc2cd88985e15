/**
 * Sends statements on shared connections with a short wait: a caller that waits longer continues without a result, and
 * nothing is canceled. A statement that delays later statements, such as one that waits for a lock, keeps its queue off
 * shared connections for a while.
 *
 * @module
 */
import type { Connection, Statement } from "./connection.ts";
import type { Ticker, Ticking } from "./ticker.ts";

export type PatientSender = {
  /** The rows; `undefined` after an error or a timeout. */
  readonly send: (statement: Statement, by: Sending) => Promise<unknown[] | undefined>;
  /** Whether a caller has timed out on a connection: it must be discarded. */
  readonly isStuck: (connection: Connection) => boolean;
  /** Whether a queue has recently delayed others. */
  readonly isAvoided: (queue: string) => boolean;
};

export type Sending = { connection: Connection; queue: string };

type Sent = Sending & { ticks: number; leave: () => void };

/** Ticks, not time: after a pause of this process, results that have already arrived are read first. */
const PATIENCE_TICKS = 10;
const AVOID_MS = 5000;

export function makePatientSender(ticker: Ticker): PatientSender {
  /** The statements in progress, in the order of sending. */
  const sent = new Set<Sent>();
  const stuck = new WeakSet<Connection>();
  const avoided = new Map<string, number>();

  const countTick = (attempt: Sent): void => {
    attempt.ticks++;
    const isOverdue = attempt.ticks > PATIENCE_TICKS;
    if (!isOverdue && attempt.connection.isAlive()) return;
    // The first statement delays all later statements.
    if (isOverdue && !stuck.has(attempt.connection))
      avoided.set(attempt.queue, performance.now() + AVOID_MS);
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
    isAvoided: (queue) => {
      const until = avoided.get(queue);
      if (until === undefined) return false;
      if (performance.now() < until) return true;
      avoided.delete(queue);
      return false;
    },
  };
}
