/**
 * Connections that many callers use at once, for pipelining: as few as answer quickly, more while they do not. Whoever
 * takes one again while it is taken sends behind those who took it before.
 *
 * @module
 */
import type { Connection } from "./connection.ts";
import {
  type Connections,
  type ConnectionsEvents,
  type ConnectionsOptions,
  MAX_AGE_MS,
  makeConnections,
} from "./connections.ts";

export type SharedConnectionsOptions = ConnectionsOptions & {
  /** How many callers use one connection at once. */
  callersPerConnection: number;
};

/** While a new caller is likely to be answered within this time, all callers share one connection. */
const QUICK_MS = 2;
/** How much of the usual time of an answer is that of the last one. */
const LAST_PART = 0.1;

type Use = {
  callers: number;
  /** When its first statement was sent, or became the first, in milliseconds of `performance.now`. */
  headSince: number;
  /** How many milliseconds an answer usually takes once its statement is the first. */
  answerMs: number;
  /** No new caller gets it; it is discarded when the last one gives it back. */
  isSuspect: boolean;
};

export function makeSharedConnections(
  options: SharedConnectionsOptions,
  events: ConnectionsEvents,
): Connections {
  const pool = makeConnections({ ...options, isPipelined: true }, events);
  const uses = new Map<Connection, Use>();

  /** The connection to send on: the first one that is quick, otherwise the quickest. */
  const choose = (now: number): Connection | undefined => {
    let chosen: Connection | undefined;
    let shortest = Number.POSITIVE_INFINITY;
    for (const [connection, use] of uses) {
      if (use.callers >= options.callersPerConnection || !isUsable(connection, use)) continue;
      const waitMs = expectWait(use, now);
      if (waitMs < QUICK_MS) return connection;
      if (waitMs < shortest) [chosen, shortest] = [connection, waitMs];
    }
    const free = pool.take();
    if (free === undefined && chosen !== undefined) pool.grow(1);
    return free ?? chosen;
  };
  const leave = (connection: Connection, use: Use): boolean => {
    use.callers--;
    return use.callers === 0 && uses.delete(connection);
  };

  return {
    ...pool,
    take: () => {
      const now = performance.now();
      const connection = choose(now);
      if (connection === undefined) return undefined;
      const use = uses.get(connection);
      if (use === undefined) uses.set(connection, startUse(now));
      else use.callers++;
      return connection;
    },
    keep: (connection) => {
      const use = uses.get(connection);
      if (use !== undefined && leave(connection, use)) pool.keep(connection);
    },
    release: (connection, isSuspect) => {
      const use = uses.get(connection);
      if (use === undefined) return;
      use.isSuspect ||= isSuspect;
      const now = performance.now();
      use.answerMs += (now - use.headSince - use.answerMs) * LAST_PART;
      use.headSince = now;
      if (leave(connection, use)) pool.release(connection, use.isSuspect);
    },
    grow: (waiting) => {
      // Full ones are no reason: those who wait are served as soon as others are.
      const isServed = [...uses].some(([connection, use]) => isUsable(connection, use));
      if (waiting > 0 && !isServed) pool.grow(1);
    },
  };
}

function startUse(now: number): Use {
  return { callers: 1, headSince: now, answerMs: 0, isSuspect: false };
}

/** How many milliseconds a new caller is likely to wait: at least as long as the first one has waited already. */
function expectWait({ callers, headSince, answerMs }: Use, now: number): number {
  return Math.max(now - headSince, callers * answerMs);
}

/** Whether a new caller may use it; in use without a pause, it is too old some day. */
function isUsable(connection: Connection, { headSince, isSuspect }: Use): boolean {
  return !isSuspect && connection.isAlive() && headSince - connection.openedAt < MAX_AGE_MS;
}
