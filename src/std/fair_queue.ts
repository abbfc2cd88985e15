/**
 * Fair scheduling: one bounded queue per app, and one for the service itself, served in rotation, so that a busy app
 * waits behind its own requests and never blocks others. Knows no connections and no clock.
 *
 * @module
 */

type FairQueueLimits<Waiter> = {
  /** Max calls in progress, such as statements on connections, over all queues. */
  connections: number;
  /** Max calls in progress of one queue. Default: all connections; from 4 connections on, all but one. */
  share?: number | undefined;
  /** The node that serves a queue; the queues of one node never use all connections together. */
  nodeOf?: ((queue: string) => string | undefined) | undefined;
  /** Returns whether a waiter can start once it has a connection; defaults to true. */
  mayStart?: ((waiter: Waiter) => boolean) | undefined;
  /** Max waiting callers in one queue, and in total. */
  perQueue: number;
  total: number;
};

/** `queue_full`: the caller's own queue; `full`: all queues together. */
export type FullQueue = "queue_full" | "full";

export type FairQueue<Waiter> = {
  /** Whether a caller of this queue can start immediately, given a free connection. */
  readonly mayStart: (queue: string) => boolean;
  readonly start: (queue: string) => void;
  readonly finish: (queue: string) => void;
  /** Joins a queue that is below its limit. */
  readonly join: (queue: string, waiter: Waiter) => FullQueue | undefined;
  /** Removes a waiter that has timed out from its queue. */
  readonly leave: (queue: string, waiter: Waiter) => void;
  /** The next waiter in rotation, removed from its queue and started. */
  readonly next: () => Waiter | undefined;
  readonly waiting: () => number;
  readonly running: () => number;
};

type Queue<Waiter> = {
  running: number;
  waiters: Set<Waiter>;
  /** The node when the first call in progress started. */
  node: string | undefined;
};

/** Min pool size at which no queue can use the last connection. */
const SHARED_FROM = 4;

function defaultShare(connections: number): number {
  return connections >= SHARED_FROM ? connections - 1 : connections;
}

/** Other nodes' apps and the service's own statements, such as checks of a hanging node, can use the rest. */
const SHARE_OF_NODE = 5 / 8;

/** At least one more than a queue's share, so that a queue at its limit never blocks the other queues of its node. */
function nodeShare({
  connections,
  share = 0,
}: Pick<FairQueueLimits<never>, "connections" | "share">): number {
  if (connections < SHARED_FROM) return connections;
  return Math.max(Math.floor(connections * SHARE_OF_NODE), Math.min(share + 1, connections - 1));
}

/**
 * Queues without waiters.
 *
 * @example
 * ```ts
 * import { makeFairQueue } from "./fair_queue.ts";
 * import { expect } from "bun:test";
 *
 * const queue = makeFairQueue<string>({ connections: 1, perQueue: 2, total: 3 });
 * queue.start("busy");
 * for (const waiter of ["first", "second"]) queue.join("busy", waiter);
 * expect(queue.join("busy", "third")).toBe("queue_full");
 * queue.join("other", "third");
 * queue.finish("busy");
 * expect(queue.next()).toBe("first");
 * queue.finish("busy");
 * expect(queue.next()).toBe("third");
 * ```
 */
export function makeFairQueue<Waiter>(limits: FairQueueLimits<Waiter>): FairQueue<Waiter> {
  const share = limits.share ?? defaultShare(limits.connections);
  const { nodeOf = () => undefined, mayStart = () => true } = limits;
  const ofNode = nodeShare(limits);
  const runningOf = new Map<string, number>();
  const queues = new Map<string, Queue<Waiter>>();
  /** Queues with waiters; the next queue in turn is first. */
  const rotation = new Map<string, Queue<Waiter>>();
  let waiting = 0;
  let running = 0;

  const find = (name: string): Queue<Waiter> => {
    const found = queues.get(name);
    if (found !== undefined) return found;
    const created: Queue<Waiter> = { running: 0, waiters: new Set(), node: undefined };
    queues.set(name, created);
    return created;
  };
  const forgetIfIdle = (name: string, queue: Queue<Waiter>): void => {
    if (queue.waiters.size === 0) rotation.delete(name);
    if (queue.waiters.size === 0 && queue.running === 0) queues.delete(name);
  };
  const remove = (name: string, queue: Queue<Waiter>, waiter: Waiter): void => {
    if (queue.waiters.delete(waiter)) waiting--;
    forgetIfIdle(name, queue);
  };
  const count = (node: string | undefined, change: 1 | -1): void => {
    if (node === undefined) return;
    const now = (runningOf.get(node) ?? 0) + change;
    if (now === 0) runningOf.delete(node);
    else runningOf.set(node, now);
  };
  const start = (name: string): void => {
    const queue = find(name);
    if (queue.running === 0) queue.node = nodeOf(name);
    queue.running++;
    running++;
    count(queue.node, 1);
  };
  const hasCapacity = (name: string, queue: Queue<Waiter> | undefined): boolean => {
    if (queue !== undefined && queue.running >= share) return false;
    const node = queue === undefined || queue.running === 0 ? nodeOf(name) : queue.node;
    return node === undefined || (runningOf.get(node) ?? 0) < ofNode;
  };

  const findReady = ({ waiters }: Queue<Waiter>): Waiter | undefined => {
    for (const waiter of waiters) if (mayStart(waiter)) return waiter;
    return undefined;
  };

  return {
    mayStart: (name) => {
      const queue = queues.get(name);
      return (queue === undefined || queue.waiters.size === 0) && hasCapacity(name, queue);
    },
    start,
    finish: (name) => {
      const queue = find(name);
      queue.running--;
      running--;
      count(queue.node, -1);
      forgetIfIdle(name, queue);
    },
    join: (name, waiter) => {
      if (waiting >= limits.total) return "full";
      const queue = find(name);
      if (queue.waiters.size >= limits.perQueue) return "queue_full";
      queue.waiters.add(waiter);
      rotation.set(name, queue);
      waiting++;
      return undefined;
    },
    leave: (name, waiter) => remove(name, find(name), waiter),
    next: () => {
      for (const [name, queue] of rotation) {
        if (!hasCapacity(name, queue)) continue;
        const waiter = findReady(queue);
        if (waiter === undefined) continue;
        start(name);
        // To the end of the rotation, behind all other queues.
        rotation.delete(name);
        rotation.set(name, queue);
        remove(name, queue, waiter);
        return waiter;
      }
      return undefined;
    },
    waiting: () => waiting,
    running: () => running,
  };
}
