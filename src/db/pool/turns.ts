/** Turns: work in progress is limited, fairly by queue, and a caller that waits too long or has left is rejected. @module */
import { type Lane, makeFairQueue } from "../../std/fair_queue.ts";
import { tooBusy } from "./acquire.ts";

export type TurnLimits = {
  /** Max in progress, in total and per queue. */
  running: number;
  share: number;
  /** Max waiting callers, in total and per queue, and how long they wait. */
  waiting: number;
  waitingPerQueue: number;
  waitMs: number;
};

export type TurnCaller = {
  /** The app, or the address of a visitor. */
  queue: string;
  /** The person, or whether the visitor has a session: one lane never uses up its queue. */
  lane?: Lane | undefined;
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
  /** Whether the rejection may name the caller's own queue; defaults to true. */
  isNamed?: boolean;
};

/** The result of the work, in its turn. @throws {Problem} rate_limited; overloaded */
type TakeTurn = <Result>(caller: TurnCaller, work: () => Promise<Result>) => Promise<Result>;

export function makeTurns(limits: TurnLimits): TakeTurn {
  const queues = makeFairQueue<{ start: () => void }>({
    connections: limits.running,
    share: limits.share,
    perQueue: limits.waitingPerQueue,
    total: limits.waiting,
  });
  const enter = async ({ queue, lane, signal, isNamed = true }: TurnCaller): Promise<void> => {
    if (queues.mayStart(queue, lane) && queues.running() < limits.running)
      return queues.start(queue, lane);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { start: resolve };
    const reason = queues.join(queue, waiter, lane);
    if (reason !== undefined) throw tooBusy(isNamed ? reason : "full");
    const leave = (): void => {
      queues.leave(queue, waiter);
      reject(tooBusy("waited"));
    };
    const timer = setTimeout(leave, limits.waitMs);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    }
  };
  return async (caller, work) => {
    await enter(caller);
    try {
      return await work();
    } finally {
      queues.finish(caller.queue, caller.lane);
      queues.next()?.start();
    }
  };
}
