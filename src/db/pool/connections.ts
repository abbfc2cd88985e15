/**
 * The pool's connections: opened on demand, reused while they are healthy, discarded when they are old, suspect, or idle
 * for long. Knows no callers and no queues.
 *
 * @module
 */
import { toUnavailable } from "../sqlstate.ts";
import { type Connection, type ConnectionOptions, openConnection } from "./connection.ts";

export type ConnectionsOptions = ConnectionOptions & {
  /** Maximum number of connections. */
  connections: number;
  /** Called when no connection is left and a new one fails, with the error of the last attempt. */
  onUnreachable?: (cause: unknown) => void;
  /** Called when a connection opens. */
  onThere?: () => void;
};

/** Notifications from the connections to the pool. */
export type ConnectionsEvents = {
  /** A connection is free, or another can be opened. */
  onCapacity: () => void;
  /** No connection is left, and the last attempt failed. */
  onNone: (error: Error) => void;
};

export type Connections = {
  /** A free connection, exclusive to the caller until it is returned. */
  readonly acquire: () => Connection | undefined;
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
/** A connection that was idle for longer is replaced: it can be dead without a notice. */
const MAX_IDLE_MS = 60_000;
export const MAX_AGE_MS = 30 * 60_000;

/** Connections that one caller at a time uses. */
export class OwnConnections implements Connections {
  readonly #options: ConnectionsOptions;
  readonly #events: ConnectionsEvents;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  #connecting = 0;
  #failure: { error: Error; at: number } | undefined;
  #isClosed = false;

  constructor(options: ConnectionsOptions, events: ConnectionsEvents) {
    this.#options = options;
    this.#events = events;
  }

  acquire(): Connection | undefined {
    for (let next = this.#idle.pop(); next !== undefined; next = this.#idle.pop()) {
      if (isFresh(next)) return next;
      this.#discard(next);
    }
    return undefined;
  }

  keep(connection: Connection): void {
    this.#idle.push(connection);
  }

  release(connection: Connection, isSuspect: boolean): void {
    connection.usedAt = performance.now();
    if (isSuspect || this.#isClosed || isOld(connection) || !connection.isAlive())
      this.#discard(connection);
    else this.#idle.push(connection);
  }

  grow(waiting: number): void {
    const { connections } = this.#options;
    while (this.#connecting < waiting && this.#open.size + this.#connecting < connections)
      void this.#add();
  }

  failure(): { error: Error; at: number } | undefined {
    return this.#open.size === 0 ? this.#failure : undefined;
  }

  size(): { open: number; connecting: number } {
    return { open: this.#open.size, connecting: this.#connecting };
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of [...this.#open]) this.#discard(connection);
  }

  async #add(): Promise<void> {
    this.#connecting++;
    const opened = await openConnection(this.#options).catch((cause: unknown) => ({ cause }));
    this.#connecting--;
    if ("cause" in opened) this.#onOpenFailed(opened.cause);
    else this.#onOpened(opened);
  }

  #onOpened(connection: Connection): void {
    if (this.#isClosed) {
      connection.end();
      return;
    }
    this.#failure = undefined;
    this.#options.onThere?.();
    this.#open.add(connection);
    this.#idle.push(connection);
    connection.onLost = () => {
      this.#open.delete(connection);
      this.#events.onCapacity();
    };
    this.#events.onCapacity();
  }

  #onOpenFailed(cause: unknown): void {
    const error = toUnavailable(cause);
    this.#failure = { error, at: performance.now() };
    if (this.#connecting > 0) return;
    if (this.#open.size === 0) {
      this.#options.onUnreachable?.(cause);
      this.#events.onNone(error);
    } else setTimeout(this.#events.onCapacity, RECONNECT_DELAY_MS).unref();
  }

  #discard(connection: Connection): void {
    this.#open.delete(connection);
    connection.end();
  }
}

function isFresh(connection: Connection): boolean {
  return connection.isAlive() && performance.now() - connection.usedAt < MAX_IDLE_MS;
}

function isOld({ usedAt, openedAt }: Connection): boolean {
  return usedAt - openedAt > MAX_AGE_MS;
}
