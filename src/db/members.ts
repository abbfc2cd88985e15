/**
 * Who gets a connection: at once where one is free, else in turn. A caller waits for a bounded time; a database that
 * refuses connections fails all who wait.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { makeAdmission, type Refusal } from "./admission.ts";
import type { Connection } from "./connection.ts";
import type { Caller } from "./exchange.ts";
import { makeRoster, RECONNECT_DELAY_MS, type RosterOptions } from "./roster.ts";
import type { Rounds, Watched } from "./rounds.ts";

export type MemberOptions = RosterOptions & {
  /** Milliseconds that a caller waits for a connection. */
  acquireMs: number;
  rounds: Rounds;
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

/** Callers that wait: of one lane, and in all. */
const LANE_QUEUE = 256;
const QUEUE = 1024;

export function makeMembers(options: MemberOptions): Members {
  const { connections, rounds, acquireMs } = options;
  const admission = makeAdmission<Waiter>({ connections, laneQueue: LANE_QUEUE, queue: QUEUE });
  const waiters = new Set<Waiter>();
  const shed = { lane_full: 0, full: 0, waited: 0, away: 0 };
  let isClosed = false;

  /** Hands free connections to whose turn it is, and has more opened for who is left. */
  const serve = (): void => {
    while (admission.waiting() > 0) {
      const connection = roster.take();
      if (connection === undefined) break;
      const waiter = admission.next();
      if (waiter === undefined) {
        roster.keep(connection);
        break;
      }
      waiter.receive(connection);
    }
    roster.grow(admission.waiting());
  };
  const failAll = (error: Error): void => {
    shed.away += waiters.size;
    for (const waiter of [...waiters]) waiter.fail(error);
  };
  const roster = makeRoster(options, { onRoom: serve, onNone: failAll });

  /** Why nobody can be served at this moment, where that is known already. */
  const findRefusal = (): Error | undefined => {
    if (isClosed) return closed();
    const failure = roster.failure();
    if (failure === undefined) return undefined;
    if (performance.now() - failure.at >= RECONNECT_DELAY_MS) return undefined;
    shed.away++;
    return failure.error;
  };
  const makeWaiter = (
    lane: string,
    caller: Caller | undefined,
    { resolve, reject }: PromiseWithResolvers<Connection>,
  ): Waiter => {
    const leavesAt = performance.now() + acquireMs;
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
        waiter.fail(roster.failure()?.error ?? tooBusy("waited"));
      },
    };
    return waiter;
  };
  const wait = (lane: string, caller: Caller | undefined): Promise<Connection> => {
    const end = Promise.withResolvers<Connection>();
    const waiter = makeWaiter(lane, caller, end);
    const refusal = admission.join(lane, waiter);
    if (refusal !== undefined) {
      shed[refusal]++;
      return Promise.reject(tooBusy(refusal));
    }
    waiters.add(waiter);
    rounds.add(waiter);
    serve();
    return end.promise;
  };

  return {
    take: (lane, caller) => {
      const connection = !isClosed && admission.mayStart(lane) ? roster.take() : undefined;
      if (connection !== undefined) {
        admission.start(lane);
        return connection;
      }
      const refusal = findRefusal();
      return refusal === undefined ? wait(lane, caller) : Promise.reject(refusal);
    },
    giveBack: (lane, connection, isSuspect) => {
      admission.finish(lane);
      roster.giveBack(connection, isSuspect);
      if (admission.waiting() > 0) serve();
    },
    stats: () => ({
      ...roster.size(),
      busy: admission.running(),
      waiting: admission.waiting(),
      shed: { ...shed },
    }),
    close: async (timeoutS) => {
      isClosed = true;
      failAll(closed());
      const endsAt = performance.now() + timeoutS * 1000;
      while (admission.running() > 0 && performance.now() < endsAt) await Bun.sleep(10);
      roster.close();
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

function closed(): Problem {
  return new Problem("unavailable", { headers: { "retry-after": "1" } });
}
