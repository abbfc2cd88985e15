/**
 * Sharing: connections that several writes use at a time. While no connection is free, a short write is sent behind others
 * on their connection, which saves system calls and wake-ups. Each is its own transaction. Such a write never waits long for a
 * lock: see `Work.brief`.
 *
 * A cancellation reaches whatever the connection runs at its arrival. So it is sent only for the single write of a
 * connection, which then gets no others.
 *
 * @module
 */
import type { Connection } from "./connection.ts";
import { isWorn, MAX_AGE_MS } from "./connections.ts";

type Use = {
  callers: number;
  /** When its first write was sent, or became the first, in milliseconds of `performance.now`. */
  headSince: number;
  /** Gets no more writes, and is discarded after the last one. */
  isSuspect: boolean;
};

/** Max writes of one connection. */
const MAX_CALLERS = 4;
/** No write is sent behind one that has lasted longer: it may wait for a lock, or for a server that hangs. */
const MAX_HEAD_MS = 10;

export type Sharing = {
  /** Lets others share the connection of a caller. */
  readonly start: (connection: Connection) => void;
  /** The connection with the fewest writes that accepts another. */
  readonly find: () => Connection | undefined;
  readonly join: (connection: Connection) => void;
  /** Ends a caller's use. Returns whether it was the last caller, and whether any caller left the connection suspect. */
  readonly leave: (
    connection: Connection,
    isSuspect: boolean,
  ) => { isLast: boolean; isSuspect: boolean };
  readonly has: (connection: Connection) => boolean;
  /** Returns whether a cancellation can reach only one caller's statement. The connection then gets no other. */
  readonly seal: (connection: Connection) => boolean;
};

export function makeSharing(): Sharing {
  const uses = new Map<Connection, Use>();
  return {
    start: (connection) =>
      void uses.set(connection, { callers: 1, headSince: performance.now(), isSuspect: false }),
    find: () => {
      const now = performance.now();
      let found: Connection | undefined;
      let fewest = MAX_CALLERS;
      for (const [connection, use] of uses)
        if (use.callers < fewest && acceptsAnother(connection, use, now))
          [found, fewest] = [connection, use.callers];
      return found;
    },
    join: (connection) => {
      const use = uses.get(connection);
      if (use !== undefined) use.callers++;
    },
    leave: (connection, isSuspect) => {
      const use = uses.get(connection);
      if (use === undefined) return { isLast: true, isSuspect };
      use.callers--;
      use.headSince = performance.now();
      use.isSuspect ||= isSuspect;
      const isLast = use.callers === 0;
      if (isLast) uses.delete(connection);
      return { isLast, isSuspect: use.isSuspect };
    },
    has: (connection) => uses.has(connection),
    seal: (connection) => {
      const use = uses.get(connection);
      if (use === undefined) return true;
      if (use.callers > 1) return false;
      use.isSuspect = true;
      return true;
    },
  };
}

function acceptsAnother(connection: Connection, { headSince, isSuspect }: Use, now: number) {
  const isYoung = now - headSince < MAX_HEAD_MS && now - connection.openedAt < MAX_AGE_MS;
  return isYoung && !isWorn(connection) && !isSuspect && connection.isAlive();
}
