/**
 * Assigns connections to callers: immediately if a connection is free, otherwise in turn. Waiting has a time limit. If the
 * database rejects connections, all waiting callers fail.
 *
 * @module
 */
import { Problem } from "../../problem.ts";
import { type FairQueue, type FullQueue, type Lane, makeFairQueue } from "../../std/fair_queue.ts";
import type { Touched } from "./affinity.ts";
import { makeAvoided } from "./avoided.ts";
import type { Connection } from "./connection.ts";
import {
  type Connections,
  type ConnectionsOptions,
  makeSharedConnections,
  OwnConnections,
  RECONNECT_DELAY_MS,
} from "./connections.ts";
import type { Nodes } from "./nodes.ts";
import { makeSharing } from "./sharing.ts";
import type { Caller } from "./statement.ts";
import type { Ticker, Ticking } from "./ticker.ts";

export type AcquirerOptions = ConnectionsOptions & {
  /** Max connections that one queue uses concurrently. Default: all connections; from 4 connections on, all but one. */
  share?: number | undefined;
  /** Max callers of one connection; more than one only for pipelining. Defaults to 1. */
  callersPerConnection?: number;
  /** In a database on several nodes: callers for an unavailable node are rejected. */
  nodes?: Nodes | undefined;
  /** Max wait for a connection, in milliseconds. */
  acquireMs: number;
  ticker: Ticker;
};

export type PoolStats = {
  open: number;
  busy: number;
  connecting: number;
  waiting: number;
  /** Rejected callers since the start, by reason. */
  shed: Readonly<Record<FullQueue | "waited" | "unavailable", number>>;
};

type Released = {
  queue: string;
  lane?: Lane | undefined;
  touched?: readonly Touched[] | undefined;
};

/** Determines when a caller can start. */
type Gate = {
  readonly mayStart: () => boolean;
  /** Called when the caller gets a connection. */
  readonly start: () => void;
  /** Removes the caller from the queue; set only while the caller waits. */
  leave: () => void;
};

type Waiter = Ticking & {
  queue: string;
  gate: Gate | undefined;
  isBrief: boolean;
  receive: (connection: Connection) => void;
  fail: (error: Error) => void;
};

type Acquiring = {
  caller?: Caller | undefined;
  lane?: Lane | undefined;
  gate?: Gate | undefined;
  /** Whether the statement is brief, and does not wait long for a lock: see `Sharing`. */
  isBrief?: boolean;
};

const MAX_WAITING_PER_QUEUE = 256;
const MAX_WAITING = 1024;

export class Acquirer {
  readonly #options: AcquirerOptions;
  readonly #fairQueue: FairQueue<Waiter>;
  readonly #pool: Connections;
  readonly #waiters = new Set<Waiter>();
  readonly #sharing = makeSharing();
  readonly #avoided = makeAvoided();
  /** Waiting callers that need a connection of their own: before them, no other caller shares one. */
  #patient = 0;
  readonly #shed = { queue_full: 0, full: 0, waited: 0, unavailable: 0 };
  #isClosed = false;

  constructor(options: AcquirerOptions) {
    const { connections, share, nodes, callersPerConnection = 1 } = options;
    this.#options = options;
    this.#fairQueue = makeFairQueue<Waiter>({
      connections: connections * callersPerConnection,
      share,
      nodeOf: nodes?.find,
      mayStart: ({ gate }) => gate?.mayStart() !== false,
      perQueue: MAX_WAITING_PER_QUEUE,
      total: MAX_WAITING,
    });
    const events = {
      onCapacity: () => this.#serve(),
      onNone: (error: Error) => this.#failAll(error),
    };
    this.#pool =
      callersPerConnection === 1
        ? new OwnConnections(options, events)
        : makeSharedConnections({ ...options, callersPerConnection }, events);
  }

  /**
   * A connection; immediately if one is free. It is exclusive, unless the acquirer is for pipelining, or the call is brief and
   * {@linkcode isShared} is true.
   */
  acquire(
    queue: string,
    { caller, gate, isBrief = false, lane }: Acquiring = {},
  ): Connection | Promise<Connection> {
    const isOpen = !this.#isClosed && this.#options.nodes?.isSilent(queue) !== true;
    const mayStart = isOpen && gate?.mayStart() !== false;
    const connection =
      mayStart && this.#fairQueue.mayStart(queue, lane) ? this.#take(queue, isBrief) : undefined;
    if (connection !== undefined) {
      this.#fairQueue.start(queue, lane);
      gate?.start();
      return connection;
    }
    const error = this.#findError(queue);
    return error === undefined
      ? this.#wait(queue, { caller, gate, isBrief, lane })
      : Promise.reject(error);
  }

  release({ queue, lane, touched }: Released, connection: Connection, isSuspect: boolean): void {
    if (touched !== undefined) connection.memory.touch(touched);
    this.#fairQueue.finish(queue, lane);
    const left = this.#sharing.leave(connection, isSuspect);
    if (left.isLast) this.#pool.release(connection, left.isSuspect);
    this.serve();
  }

  /** Whether a brief call of this queue can share a connection. Without the driver's patch, none can. */
  mayShare(queue: string): boolean {
    return this.#options.isPipelined === true && !this.#avoided.has(queue);
  }

  /** Keeps the calls of a queue off shared connections for a while. */
  avoid(queue: string): void {
    this.#avoided.add(queue);
  }

  isShared(connection: Connection): boolean {
    return this.#sharing.has(connection);
  }

  /** Returns whether a statement can be canceled: the cancellation could reach another caller's on a shared connection. */
  mayCancel(connection: Connection): boolean {
    return this.#sharing.seal(connection);
  }

  /** Starts the callers whose gate has opened. */
  serve(): void {
    if (this.#fairQueue.waiting() > 0) this.#serve();
  }

  /** Counts changed sets of functions: connections with many old plans are replaced. */
  countChanges(changes: number): void {
    this.#pool.countChanges(changes);
  }

  stats(): PoolStats {
    const { open, connecting } = this.#pool.size();
    // Several callers can share a connection.
    const busy = Math.min(this.#fairQueue.running(), open);
    return { open, busy, connecting, waiting: this.#fairQueue.waiting(), shed: { ...this.#shed } };
  }

  async close(timeoutS: number): Promise<void> {
    this.#isClosed = true;
    this.#failAll(closed());
    const endsAt = performance.now() + timeoutS * 1000;
    while (this.#fairQueue.running() > 0 && performance.now() < endsAt) await Bun.sleep(10);
    this.#pool.close();
  }

  /** A free connection, or for a brief call a shared one. */
  #take(queue: string, isBrief: boolean): Connection | undefined {
    const free = this.#pool.acquire(queue);
    const found = free ?? (isBrief ? this.#findShared() : undefined);
    if (found !== undefined && isBrief) this.#share(found, free !== undefined);
    return found;
  }

  #findShared(): Connection | undefined {
    return this.#patient > 0 ? undefined : this.#sharing.find();
  }

  #share(connection: Connection, isFree: boolean): void {
    if (isFree) {
      this.#sharing.start(connection);
      return;
    }
    this.#sharing.join(connection);
    this.#pool.grow(1);
  }

  /** Gives free and shared connections to the next callers, and opens more for the others. */
  #serve(): void {
    while (this.#fairQueue.waiting() > 0) {
      const free = this.#pool.acquire();
      const connection = free ?? this.#findShared();
      if (connection === undefined) break;
      const waiter = this.#fairQueue.next();
      if (waiter === undefined) {
        if (free !== undefined) this.#pool.keep(free);
        break;
      }
      const preferred = free === undefined ? connection : this.#pool.exchange(free, waiter.queue);
      if (waiter.isBrief) this.#share(preferred, free !== undefined);
      waiter.receive(preferred);
    }
    this.#pool.grow(this.#fairQueue.waiting());
  }

  #failAll(error: Error): void {
    this.#shed.unavailable += this.#waiters.size;
    for (const waiter of [...this.#waiters]) waiter.fail(error);
  }

  /** The error if no connection is possible now, for this queue or for all. */
  #findError(queue: string): Error | undefined {
    if (this.#isClosed) return closed();
    if (this.#options.nodes?.isSilent(queue) === true) {
      this.#shed.unavailable++;
      return new Problem("unavailable", { retryAfterS: 1 });
    }
    const failure = this.#pool.failure();
    if (failure === undefined) return undefined;
    if (performance.now() - failure.at >= RECONNECT_DELAY_MS) return undefined;
    this.#shed.unavailable++;
    return failure.error;
  }

  #wait(queue: string, acquiring: Acquiring): Promise<Connection> {
    const { gate } = acquiring;
    const { ticker } = this.#options;
    const end = Promise.withResolvers<Connection>();
    const waiter = this.#makeWaiter(queue, acquiring, end);
    const reason = this.#fairQueue.join(queue, waiter, acquiring.lane);
    if (reason !== undefined) {
      this.#shed[reason]++;
      return Promise.reject(tooBusy(reason));
    }
    this.#waiters.add(waiter);
    if (!waiter.isBrief) this.#patient++;
    ticker.add(waiter);
    // A caller behind a closed gate needs no connection yet.
    if (gate?.mayStart() !== false) this.#serve();
    return end.promise;
  }

  #makeWaiter(
    queue: string,
    { caller, gate, isBrief = false }: Acquiring,
    { resolve, reject }: PromiseWithResolvers<Connection>,
  ): Waiter {
    const leavesAt = performance.now() + this.#options.acquireMs;
    const leave = (): void => {
      if (this.#waiters.delete(waiter) && !isBrief) this.#patient--;
      this.#options.ticker.remove(waiter);
    };
    const waiter: Waiter = {
      queue,
      gate,
      isBrief,
      receive: (connection) => {
        leave();
        gate?.start();
        resolve(connection);
      },
      fail: (error) => {
        leave();
        this.#fairQueue.leave(queue, waiter);
        reject(error);
      },
      tick: (now) => {
        if (caller?.signal.aborted === true) return waiter.fail(new Problem("overloaded"));
        if (now < leavesAt) return;
        this.#shed.waited++;
        waiter.fail(this.#pool.failure()?.error ?? tooBusy("waited"));
      },
    };
    if (gate !== undefined)
      gate.leave = () => {
        leave();
        this.#fairQueue.leave(queue, waiter);
      };
    return waiter;
  }
}

const REJECTIONS = {
  queue_full: {
    code: "rate_limited",
    message: "Too many requests of this app are already waiting",
  },
  full: {
    code: "overloaded",
    message: "Too many requests are already waiting; nothing was started",
  },
  waited: { code: "overloaded", message: "No connection became free in time; nothing was started" },
} as const;

/** The rejection of a caller by a fair queue. */
export function tooBusy(reason: keyof typeof REJECTIONS): Problem {
  const { code, message } = REJECTIONS[reason];
  return new Problem(code, { message, retryAfterS: 1 });
}

function closed(): Problem {
  return new Problem("unavailable", { retryAfterS: 1 });
}
