/**
 * Connections that many callers use concurrently, for pipelining. Uses as few connections as possible, and more while
 * responses are slow. A caller's statement follows the statements of earlier callers on the connection.
 *
 * @module
 */
import type { Connection } from "./connection.ts";
import {
  type Connections,
  type ConnectionsEvents,
  type ConnectionsOptions,
  MAX_AGE_MS,
  OwnConnections,
} from "./connections.ts";

export type SharedConnectionsOptions = ConnectionsOptions & {
  /** Max callers of one connection. */
  callersPerConnection: number;
};

/** While a new caller's expected wait is within this time, all callers share one connection. */
const QUICK_MS = 2;
/** The weight of the last response time in the average. */
const LAST_PART = 0.1;

type Use = {
  callers: number;
  /** When its first statement was sent, or became the first, in milliseconds of `performance.now`. */
  headSince: number;
  /** The average time in milliseconds until the first statement completes. */
  responseMs: number;
  /** Gets no new callers, and is discarded when the last caller returns it. */
  isSuspect: boolean;
};

export function makeSharedConnections(
  options: SharedConnectionsOptions,
  events: ConnectionsEvents,
): Connections {
  const pool = new OwnConnections({ ...options, isPipelined: true }, events);
  const uses = new Map<Connection, Use>();

  /** The connection to send on: the first with a short wait, otherwise the one with the shortest wait. */
  const choose = (now: number): Connection | undefined => {
    let chosen: Connection | undefined;
    let shortest = Number.POSITIVE_INFINITY;
    for (const [connection, use] of uses) {
      if (use.callers >= options.callersPerConnection || !isUsable(connection, use)) continue;
      const waitMs = expectWait(use, now);
      if (waitMs < QUICK_MS) return connection;
      if (waitMs < shortest) [chosen, shortest] = [connection, waitMs];
    }
    const free = pool.acquire();
    if (free === undefined && chosen !== undefined) pool.grow(1);
    return free ?? chosen;
  };
  const leave = (connection: Connection, use: Use): boolean => {
    use.callers--;
    return use.callers === 0 && uses.delete(connection);
  };

  return {
    failure: () => pool.failure(),
    size: () => pool.size(),
    close: () => pool.close(),
    acquire: () => {
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
      use.responseMs += (now - use.headSince - use.responseMs) * LAST_PART;
      use.headSince = now;
      if (leave(connection, use)) pool.release(connection, use.isSuspect);
    },
    grow: (waiting) => {
      // Full connections are no reason to grow: waiting callers get a turn when others finish.
      const isServed = [...uses].some(([connection, use]) => isUsable(connection, use));
      if (waiting > 0 && !isServed) pool.grow(1);
    },
  };
}

function startUse(now: number): Use {
  return { callers: 1, headSince: now, responseMs: 0, isSuspect: false };
}

/** A new caller's expected wait in milliseconds: at least the current wait of the first. */
function expectWait({ callers, headSince, responseMs }: Use, now: number): number {
  return Math.max(now - headSince, callers * responseMs);
}

/** Returns whether a new caller can use the connection; in continuous use it eventually becomes too old. */
function isUsable(connection: Connection, { headSince, isSuspect }: Use): boolean {
  return !isSuspect && connection.isAlive() && headSince - connection.openedAt < MAX_AGE_MS;
}
