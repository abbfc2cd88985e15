/**
 * Who gets a connection: at once if one is free, otherwise in turn. A caller waits for a limited time; if the database
 * refuses connections, all waiting callers fail.
 *
 * @module
 */
import { Problem } from "../../problem.ts";
import type { Connection } from "./connection.ts";
import { type ConnectionsOptions, makeConnections, RECONNECT_DELAY_MS } from "./connections.ts";
import { type FullQueue, makeFairQueue } from "./fair_queue.ts";
import type { Nodes } from "./nodes.ts";
import { makeSharedConnections } from "./shared_connections.ts";
import type { Caller } from "./statement.ts";
import type { Ticker, Ticking } from "./ticker.ts";

export type AcquirerOptions = ConnectionsOptions & {
  /** How many connections one queue may use at once. */
  share?: number | undefined;
  /** How many callers use one connection at once; more than one only if statements may be pipelined on it. Default: 1. */
  callersPerConnection?: number;
  /** Where the database is distributed: callers for a node that is silent are refused. */
  nodes?: Nodes | undefined;
  /** How many milliseconds a caller waits for a connection. */
  acquireMs: number;
  ticker: Ticker;
};

export type PoolStats = {
  open: number;
  busy: number;
  connecting: number;
  waiting: number;
  /** Callers turned away since the start, by reason. */
  shed: Readonly<Record<FullQueue | "waited" | "away", number>>;
};

export type Acquirer = {
  /** A connection, for the caller alone unless it is shared: at once if one is free. */
  readonly acquire: (queue: string, caller?: Caller) => Connection | Promise<Connection>;
  readonly release: (queue: string, connection: Connection, isSuspect: boolean) => void;
  readonly stats: () => PoolStats;
  readonly close: (timeoutS: number) => Promise<void>;
};

type Waiter = Ticking & {
  receive: (connection: Connection) => void;
  fail: (error: Error) => void;
};

/** Maximum number of waiting callers: in one queue, and in all. */
const MAX_WAITING_PER_QUEUE = 256;
const MAX_WAITING = 1024;

export function makeAcquirer(options: AcquirerOptions): Acquirer {
  const { connections, share, ticker, acquireMs, callersPerConnection = 1 } = options;
  const fairQueue = makeFairQueue<Waiter>({
    connections: connections * callersPerConnection,
    share,
    nodeOf: options.nodes?.find,
    perQueue: MAX_WAITING_PER_QUEUE,
    total: MAX_WAITING,
  });
  const waiters = new Set<Waiter>();
  const shed = { queue_full: 0, full: 0, waited: 0, away: 0 };
  let isClosed = false;

  /** Hands free connections to those whose turn it is, and opens more for the others. */
  const serve = (): void => {
    while (fairQueue.waiting() > 0) {
      const connection = pool.take();
      if (connection === undefined) break;
      const waiter = fairQueue.next();
      if (waiter === undefined) {
        pool.keep(connection);
        break;
      }
      waiter.receive(connection);
    }
    pool.grow(fairQueue.waiting());
  };
  const failAll = (error: Error): void => {
    shed.away += waiters.size;
    for (const waiter of [...waiters]) waiter.fail(error);
  };
  const events = { onRoom: serve, onNone: failAll };
  const pool =
    callersPerConnection === 1
      ? makeConnections(options, events)
      : makeSharedConnections({ ...options, callersPerConnection }, events);

  /** Why nobody can be served right now, if that is known. */
  const findRefusal = (queue: string): Error | undefined => {
    if (isClosed) return closed();
    if (options.nodes?.isSilent(queue) === true) {
      shed.away++;
      return new Problem("unavailable", { retryAfterS: 1 });
    }
    const failure = pool.failure();
    if (failure === undefined) return undefined;
    if (performance.now() - failure.at >= RECONNECT_DELAY_MS) return undefined;
    shed.away++;
    return failure.error;
  };
  const makeWaiter = (
    queue: string,
    caller: Caller | undefined,
    { resolve, reject }: PromiseWithResolvers<Connection>,
  ): Waiter => {
    const leavesAt = performance.now() + acquireMs;
    const leave = (): void => {
      waiters.delete(waiter);
      ticker.remove(waiter);
    };
    const waiter: Waiter = {
      receive: (connection) => {
        leave();
        resolve(connection);
      },
      fail: (error) => {
        leave();
        fairQueue.leave(queue, waiter);
        reject(error);
      },
      tick: (now) => {
        if (caller?.signal.aborted === true) return waiter.fail(new Problem("overloaded"));
        if (now < leavesAt) return;
        shed.waited++;
        waiter.fail(pool.failure()?.error ?? tooBusy("waited"));
      },
    };
    return waiter;
  };
  const wait = (queue: string, caller: Caller | undefined): Promise<Connection> => {
    const end = Promise.withResolvers<Connection>();
    const waiter = makeWaiter(queue, caller, end);
    const refusal = fairQueue.join(queue, waiter);
    if (refusal !== undefined) {
      shed[refusal]++;
      return Promise.reject(tooBusy(refusal));
    }
    waiters.add(waiter);
    ticker.add(waiter);
    serve();
    return end.promise;
  };

  return {
    acquire: (queue, caller) => {
      const isOpen = !isClosed && options.nodes?.isSilent(queue) !== true;
      const connection = isOpen && fairQueue.mayStart(queue) ? pool.take() : undefined;
      if (connection !== undefined) {
        fairQueue.start(queue);
        return connection;
      }
      const refusal = findRefusal(queue);
      return refusal === undefined ? wait(queue, caller) : Promise.reject(refusal);
    },
    release: (queue, connection, isSuspect) => {
      fairQueue.finish(queue);
      pool.release(connection, isSuspect);
      if (fairQueue.waiting() > 0) serve();
    },
    stats: () => ({
      ...pool.size(),
      busy: fairQueue.running(),
      waiting: fairQueue.waiting(),
      shed: { ...shed },
    }),
    close: async (timeoutS) => {
      isClosed = true;
      failAll(closed());
      const endsAt = performance.now() + timeoutS * 1000;
      while (fairQueue.running() > 0 && performance.now() < endsAt) await Bun.sleep(10);
      pool.close();
    },
  };
}

const REFUSALS = {
  queue_full: {
    code: "rate_limited",
    message: "Too many requests of this app are waiting already",
  },
  full: {
    code: "overloaded",
    message: "Too many requests are waiting already; nothing was started",
  },
  waited: { code: "overloaded", message: "No connection became free in time; nothing was started" },
} as const;

function tooBusy(reason: keyof typeof REFUSALS): Problem {
  const { code, message } = REFUSALS[reason];
  return new Problem(code, { message, retryAfterS: 1 });
}

function closed(): Problem {
  return new Problem("unavailable", { retryAfterS: 1 });
}
