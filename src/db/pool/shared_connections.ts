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

/** While a connection's first statement is answered within this time, all callers share that connection. */
const QUICK_MS = 2;

type Use = {
  callers: number;
  /** When its first statement was sent, or became the first, in milliseconds of `performance.now`. */
  headSince: number;
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
    let latest = Number.NEGATIVE_INFINITY;
    for (const [connection, use] of uses) {
      const { callers, headSince } = use;
      if (callers >= options.callersPerConnection || !isUsable(connection, use)) continue;
      if (now - headSince < QUICK_MS) return connection;
      if (headSince > latest) [chosen, latest] = [connection, headSince];
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
      if (use === undefined) uses.set(connection, { callers: 1, headSince: now, isSuspect: false });
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
      use.headSince = performance.now();
      if (leave(connection, use)) pool.release(connection, use.isSuspect);
    },
    grow: (waiting) => {
      // Full ones are no reason: those who wait are served as soon as others are.
      const isServed = [...uses].some(([connection, use]) => isUsable(connection, use));
      if (waiting > 0 && !isServed) pool.grow(1);
    },
  };
}

/** Whether a new caller may use it; in use without a pause, it is too old some day. */
function isUsable(connection: Connection, { headSince, isSuspect }: Use): boolean {
  return !isSuspect && connection.isAlive() && headSince - connection.openedAt < MAX_AGE_MS;
}
