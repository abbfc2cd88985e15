/**
 * The pool's connections: opened on demand, reused while they are healthy, discarded when they are old, suspect, or idle
 * for long. Knows no callers and no queues.
 *
 * @module
 */

import { toConnectError } from "../sqlstate.ts";
import { type Connection, type ConnectionOptions, openConnection } from "./connection.ts";

export type ConnectionsOptions = ConnectionOptions & {
  /** Maximum number of connections. */
  connections: number;
  /** Called when no connection is left and none can be made, with the error of the last attempt. */
  onAway?: (cause: unknown) => void;
  /** Called when a connection is made. */
  onThere?: () => void;
};

/** Notifications from the connections to the pool. */
export type ConnectionsEvents = {
  /** A connection is free, or another can be opened. */
  onRoom: () => void;
  /** No connection is left, and none could be made. */
  onNone: (error: Error) => void;
};

export type Connections = {
  /** A free connection, exclusive to the caller until it is returned. */
  readonly take: () => Connection | undefined;
  /** Returns an unused connection. */
  readonly keep: (connection: Connection) => void;
  readonly release: (connection: Connection, isSuspect: boolean) => void;
  /** Opens connections until every waiting caller has one in progress, or the limit is reached. */
  readonly grow: (waiting: number) => void;
  /** Why there is no connection, and since when, in milliseconds of `performance.now`. */
  readonly failure: () => { error: Error; at: number } | undefined;
  readonly size: () => { open: number; connecting: number };
  /** Closes all connections; later none is opened or reused. */
  readonly close: () => void;
};

/** Delay after a failed attempt to connect. */
export const RECONNECT_DELAY_MS = 100;
/** After a minute of silence a connection can be dead without notice: it is replaced. */
const MAX_IDLE_MS = 60_000;
export const MAX_AGE_MS = 30 * 60_000;

export function makeConnections(
  options: ConnectionsOptions,
  { onRoom, onNone }: ConnectionsEvents,
): Connections {
  const open = new Set<Connection>();
  const idle: Connection[] = [];
  let connecting = 0;
  let failure: { error: Error; at: number } | undefined;
  let isClosed = false;

  const discard = (connection: Connection): void => {
    open.delete(connection);
    connection.end();
  };
  const onOpened = (connection: Connection): void => {
    if (isClosed) {
      connection.end();
      return;
    }
    failure = undefined;
    options.onThere?.();
    open.add(connection);
    idle.push(connection);
    connection.onLost = () => {
      open.delete(connection);
      onRoom();
    };
    onRoom();
  };
  const onOpenFailed = (cause: unknown): void => {
    const error = toConnectError(cause);
    failure = { error, at: performance.now() };
    if (connecting > 0) return;
    if (open.size === 0) {
      options.onAway?.(cause);
      onNone(error);
    } else setTimeout(onRoom, RECONNECT_DELAY_MS).unref();
  };
  const add = async (): Promise<void> => {
    connecting++;
    const opened = await openConnection(options).catch((cause: unknown) => ({ cause }));
    connecting--;
    if ("cause" in opened) onOpenFailed(opened.cause);
    else onOpened(opened);
  };

  return {
    take: () => {
      for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
        if (isFresh(connection)) return connection;
        discard(connection);
      }
      return undefined;
    },
    keep: (connection) => void idle.push(connection),
    release: (connection, isSuspect) => {
      connection.usedAt = performance.now();
      if (isSuspect || isClosed || isOld(connection) || !connection.isAlive()) discard(connection);
      else idle.push(connection);
    },
    grow: (waiting) => {
      while (connecting < waiting && open.size + connecting < options.connections) void add();
    },
    failure: () => (open.size === 0 ? failure : undefined),
    size: () => ({ open: open.size, connecting }),
    close: () => {
      isClosed = true;
      for (const connection of [...open]) discard(connection);
    },
  };
}

function isFresh(connection: Connection): boolean {
  return connection.isAlive() && performance.now() - connection.usedAt < MAX_IDLE_MS;
}

function isOld({ usedAt, openedAt }: Connection): boolean {
  return usedAt - openedAt > MAX_AGE_MS;
}
