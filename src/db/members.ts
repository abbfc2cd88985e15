/**
 * The pool's connections: opened while callers wait, handed to whose turn it is, thrown away when they are old, idle
 * for long or suspect. A caller waits for a bounded time; a database that refuses connections fails all who wait.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { makeAdmission, type Refusal } from "./admission.ts";
import { type Connection, type ConnectionOptions, openConnection } from "./connection.ts";
import type { Caller } from "./exchange.ts";
import type { Rounds, Watched } from "./rounds.ts";
import { toConnectError } from "./sqlstate.ts";

export type MemberOptions = ConnectionOptions & {
  /** Connections at the most. */
  connections: number;
  /** Milliseconds that a caller waits for one. */
  acquireMs: number;
  rounds: Rounds;
  /** Told when there is no connection left and none can be made, with what the last attempt met. */
  onAway?: (cause: unknown) => void;
  /** Told when a connection was made. */
  onThere?: () => void;
};

export type PoolStats = {
  open: number;
  busy: number;
  connecting: number;
  waiting: number;
  /** Callers turned away since the start, by reason. */
  shed: Readonly<Record<Refusal | "waited" | "away", number>>;
};

export type Members = {
  /** A connection of the caller's own: at once where one is free. */
  readonly take: (lane: string, caller?: Caller) => Connection | Promise<Connection>;
  readonly giveBack: (lane: string, connection: Connection, isSuspect: boolean) => void;
  readonly stats: () => PoolStats;
  readonly close: (timeoutS: number) => Promise<void>;
};

type Waiter = Watched & {
  receive: (connection: Connection) => void;
  fail: (error: Error) => void;
};

/** After a failed attempt to connect, callers are refused for this long before the next attempt. */
const RECONNECT_DELAY_MS = 100;
/** A connection may be dead without a word after a minute's silence: it is replaced, not trusted. */
const MOST_IDLE_MS = 60_000;
const MOST_AGE_MS = 30 * 60_000;
/** Callers that wait: of one lane, and in all. */
const LANE_QUEUE = 256;
const QUEUE = 1024;

export function makeMembers(options: MemberOptions): Members {
  const { rounds } = options;
  const admission = makeAdmission<Waiter>({
    connections: options.connections,
    laneQueue: LANE_QUEUE,
    queue: QUEUE,
  });
  const waiters = new Set<Waiter>();
  const open = new Set<Connection>();
  const idle: Connection[] = [];
  const shed = { lane_full: 0, full: 0, waited: 0, away: 0 };
  let connecting = 0;
  let failure: { error: Error; at: number } | undefined;
  let isClosed = false;

  const isFresh = (connection: Connection): boolean =>
    connection.isAlive() && performance.now() - connection.usedAt < MOST_IDLE_MS;
  const discard = (connection: Connection): void => {
    open.delete(connection);
    connection.end();
  };
  const takeIdle = (): Connection | undefined => {
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (isFresh(connection)) return connection;
      discard(connection);
    }
    return undefined;
  };
  /** Hands free connections to whose turn it is, and opens more for who is left. */
  const serve = (): void => {
    while (admission.waiting() > 0) {
      const connection = takeIdle();
      if (connection === undefined) break;
      const waiter = admission.next();
      if (waiter === undefined) {
        idle.push(connection);
        break;
      }
      waiter.receive(connection);
    }
    grow();
  };
  const grow = (): void => {
    while (connecting < admission.waiting() && open.size + connecting < options.connections)
      void addConnection();
  };
  const addConnection = async (): Promise<void> => {
    connecting++;
    try {
      const connection = await openConnection(options);
      connecting--;
      if (isClosed) return connection.end();
      failure = undefined;
      options.onThere?.();
      open.add(connection);
      idle.push(connection);
      connection.onLost = () => {
        open.delete(connection);
        serve();
      };
      serve();
    } catch (cause) {
      connecting--;
      failure = { error: toConnectError(cause), at: performance.now() };
      if (connecting > 0) return;
      if (open.size === 0) {
        options.onAway?.(cause);
        failAll(failure.error);
      } else setTimeout(grow, RECONNECT_DELAY_MS).unref();
    }
  };
  const failAll = (error: Error): void => {
    shed.away += waiters.size;
    for (const waiter of [...waiters]) waiter.fail(error);
  };
  /** Why nobody can be served at this moment, where that is known already. */
  const findRefusal = (): Error | undefined => {
    if (isClosed) return new Problem("unavailable", { headers: { "retry-after": "1" } });
    if (failure === undefined || open.size > 0) return undefined;
    if (performance.now() - failure.at >= RECONNECT_DELAY_MS) return undefined;
    shed.away++;
    return failure.error;
  };
  const wait = (lane: string, caller: Caller | undefined): Promise<Connection> =>
    new Promise((resolve, reject) => {
      const leavesAt = performance.now() + options.acquireMs;
      const leave = (): void => {
        waiters.delete(waiter);
        rounds.remove(waiter);
      };
      const waiter: Waiter = {
        receive: (connection) => {
          leave();
          resolve(connection);
        },
        fail: (error) => {
          leave();
          admission.leave(lane, waiter);
          reject(error);
        },
        look: (now) => {
          if (caller?.signal.aborted === true) return waiter.fail(new Problem("overloaded"));
          if (now < leavesAt) return;
          shed.waited++;
          waiter.fail(open.size === 0 && failure !== undefined ? failure.error : tooBusy("waited"));
        },
      };
      const refusal = admission.join(lane, waiter);
      if (refusal !== undefined) {
        shed[refusal]++;
        return reject(tooBusy(refusal));
      }
      waiters.add(waiter);
      rounds.add(waiter);
      serve();
    });

  return {
    take: (lane, caller) => {
      const connection = !isClosed && admission.mayStart(lane) ? takeIdle() : undefined;
      if (connection !== undefined) {
        admission.start(lane);
        return connection;
      }
      const refusal = findRefusal();
      return refusal === undefined ? wait(lane, caller) : Promise.reject(refusal);
    },
    giveBack: (lane, connection, isSuspect) => {
      admission.finish(lane);
      connection.usedAt = performance.now();
      const isOld = connection.usedAt - connection.openedAt > MOST_AGE_MS;
      if (isSuspect || isOld || isClosed || !connection.isAlive()) discard(connection);
      else idle.push(connection);
      if (admission.waiting() > 0) serve();
    },
    stats: () => ({
      open: open.size,
      busy: admission.running(),
      connecting,
      waiting: admission.waiting(),
      shed: { ...shed },
    }),
    close: async (timeoutS) => {
      isClosed = true;
      failAll(new Problem("unavailable", { headers: { "retry-after": "1" } }));
      const endsAt = performance.now() + timeoutS * 1000;
      while (admission.running() > 0 && performance.now() < endsAt) await Bun.sleep(10);
      for (const connection of [...open]) discard(connection);
    },
  };
}

const REFUSALS = {
  lane_full: { code: "rate_limited", message: "Too many requests of this app wait already" },
  full: { code: "overloaded", message: "Too many requests wait already; nothing was started" },
  waited: { code: "overloaded", message: "No connection came free in time; nothing was started" },
} as const;

function tooBusy(reason: keyof typeof REFUSALS): Problem {
  const { code, message } = REFUSALS[reason];
  return new Problem(code, { message, headers: { "retry-after": "1" } });
}
