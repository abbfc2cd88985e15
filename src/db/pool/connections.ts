/**
 * The pool's connections: opened on demand, reused while they are healthy, discarded when they are old, suspect, or idle
 * for long. Knows no callers and no queues.
 *
 * @module
 */

import { toUnavailable } from "../sqlstate.ts";
import { findPreferred, MAX_SESSION_BYTES } from "./affinity.ts";
import { type Connection, type ConnectionOptions, openConnection } from "./connection.ts";

export type ConnectionsOptions = ConnectionOptions & {
  connections: number;
  /** Called when no connection is left and a new one fails, with the error of the last attempt. */
  onUnreachable?: (cause: unknown) => void;
  /** Called when the database refuses another connection while some are open. */
  onRefused?: (cause: unknown) => void;
  /** Called when a connection opens. */
  onThere?: () => void;
};

/** Notifications from the connections to the pool. */
type ConnectionsEvents = {
  /** A connection is free, or another can be opened. */
  onCapacity: () => void;
  /** No connection is left, and the last attempt failed. */
  onNone: (error: Error) => void;
};

export type Connections = {
  /** A free connection, exclusive to the caller until it is returned; of several, the one that the queue prefers. */
  readonly acquire: (queue?: string) => Connection | undefined;
  /** Returns an unused connection. */
  readonly keep: (connection: Connection) => void;
  /** The free connection that the queue prefers, for this unused one. */
  readonly exchange: (connection: Connection, queue: string) => Connection;
  readonly release: (connection: Connection, isSuspect: boolean) => void;
  /** Opens connections until every waiting caller has one in progress, or the limit is reached. */
  readonly grow: (waiting: number) => void;
  /** Counts changed sets of functions, whose old plans the sessions keep. */
  readonly countChanges: (changes: number) => void;
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
/**
 * After how many changed sets of functions a session is replaced, at least. PostgreSQL keeps the plans of replaced functions until
 * the session ends, and compares every later change with every plan, without a check for a cancellation: after some dozens
 * of pushes with rules, that takes a session longer than the time limit of a statement.
 */
export const MIN_CHANGES = 64;
/** The sessions of a pool differ by these, so that not all are replaced at once. */
const MORE_CHANGES = [0, 16, 32, 48] as const;

/** Connections that one caller at a time uses. */
export class OwnConnections implements Connections {
  readonly #options: ConnectionsOptions;
  readonly #events: ConnectionsEvents;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  #connecting = 0;
  #count = 0;
  #failure: { error: Error; at: number } | undefined;
  #isClosed = false;

  constructor(options: ConnectionsOptions, events: ConnectionsEvents) {
    this.#options = options;
    this.#events = events;
  }

  acquire(queue?: string): Connection | undefined {
    for (let next = this.#takeIdle(queue); next !== undefined; next = this.#takeIdle(queue)) {
      if (isFresh(next)) return next;
      this.#discard(next);
    }
    return undefined;
  }

  keep(connection: Connection): void {
    this.#idle.push(connection);
  }

  exchange(connection: Connection, queue: string): Connection {
    if (this.#idle.length === 0) return connection;
    this.keep(connection);
    return this.acquire(queue) ?? connection;
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

  countChanges(changes: number): void {
    for (const connection of this.#open) connection.changesLeft -= changes;
    for (const connection of this.#idle.splice(0))
      if (isWorn(connection)) this.#discard(connection);
      else this.#idle.push(connection);
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

  #takeIdle(queue: string | undefined): Connection | undefined {
    const last = this.#idle.pop();
    if (last === undefined || queue === undefined || this.#idle.length === 0) return last;
    this.#idle.push(last);
    return this.#idle.splice(findPreferred(this.#idle, queue), 1)[0];
  }

  #findSlot(): number {
    const taken = new Set([...this.#open].map(({ slot }) => slot));
    let slot = 0;
    while (taken.has(slot)) slot++;
    return slot;
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
    connection.changesLeft = MIN_CHANGES + (MORE_CHANGES[this.#count % MORE_CHANGES.length] ?? 0);
    this.#count++;
    connection.slot = this.#findSlot();
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
    } else {
      this.#options.onRefused?.(cause);
      setTimeout(this.#events.onCapacity, RECONNECT_DELAY_MS).unref();
    }
  }

  #discard(connection: Connection): void {
    this.#open.delete(connection);
    connection.end();
  }
}

function isFresh(connection: Connection): boolean {
  return connection.isAlive() && performance.now() - connection.usedAt < MAX_IDLE_MS;
}

function isOld(connection: Connection): boolean {
  return connection.usedAt - connection.openedAt > MAX_AGE_MS || isWorn(connection);
}

/** Whether the session has too many plans: of functions that were replaced, or of many tables. */
export function isWorn({ changesLeft, memory }: Connection): boolean {
  return changesLeft <= 0 || memory.bytes() > MAX_SESSION_BYTES;
}

// Connections that many callers use concurrently, for pipelining. Uses as few connections as
// possible, and more while responses are slow. A caller's statement follows the statements of
// earlier callers on the connection.

type SharedConnectionsOptions = ConnectionsOptions & {
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
    countChanges: (changes) => pool.countChanges(changes),
    acquire: () => {
      const now = performance.now();
      const connection = choose(now);
      if (connection === undefined) return undefined;
      const use = uses.get(connection);
      if (use === undefined) uses.set(connection, startUse(now));
      else use.callers++;
      return connection;
    },
    // A pipeline uses as few connections as possible, whatever the app.
    exchange: (connection) => connection,
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
  const isYoung = headSince - connection.openedAt < MAX_AGE_MS && !isWorn(connection);
  return isYoung && !isSuspect && connection.isAlive();
}
