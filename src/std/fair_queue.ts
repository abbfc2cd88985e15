/**
 * Fair scheduling: one bounded queue per app, and one for the service itself, served in rotation, so that a busy app
 * waits behind its own requests and never blocks others. In a queue, lanes are served in rotation too, such as those of an app's people:
 * a lane uses and fills only a part of its queue. Knows no connections and no clock.
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

/** A part of a queue, such as the requests of one person. Calls without a lane can use the whole queue. */
export type Lane = {
  readonly name: string;
  /** How many calls it counts as while it is in progress; defaults to 1. */
  readonly weight?: number | undefined;
};

/** `queue_full`: the caller's own queue; `full`: all queues together. */
export type FullQueue = "queue_full" | "full";

export type FairQueue<Waiter> = {
  /** Whether a caller of this queue can start immediately, given a free connection. */
  readonly mayStart: (queue: string, lane?: Lane) => boolean;
  readonly start: (queue: string, lane?: Lane) => void;
  readonly finish: (queue: string, lane?: Lane) => void;
  /** Joins a queue that is below its limit. */
  readonly join: (queue: string, waiter: Waiter, lane?: Lane) => FullQueue | undefined;
  /** Removes a waiter that has timed out from its queue. */
  readonly leave: (queue: string, waiter: Waiter) => void;
  /** The next waiter in rotation, removed from its queue and started. */
  readonly next: () => Waiter | undefined;
  readonly waiting: () => number;
  readonly running: () => number;
};

/** The part of a queue's calls in progress, and of its waiters, that one lane can be. */
const SHARE_OF_LANE = 3 / 4;

type Waiting<Waiter> = { waiter: Waiter; lane: Lane | undefined };
type Queue<Waiter> = {
  running: number;
  /** The weight of the calls in progress of each named lane. */
  weights: Map<string, number>;
  /** By lane, the next in turn first; each in order of arrival. */
  lanes: Map<string, Map<Waiter, Waiting<Waiter>>>;
  waiting: number;
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
    const created: Queue<Waiter> = {
      ...{ running: 0, weights: new Map(), lanes: new Map(), waiting: 0, node: undefined },
    };
    queues.set(name, created);
    return created;
  };
  const forgetIfIdle = (name: string, queue: Queue<Waiter>): void => {
    if (queue.waiting === 0) rotation.delete(name);
    if (queue.waiting === 0 && queue.running === 0) queues.delete(name);
  };
  const remove = (name: string, queue: Queue<Waiter>, waiter: Waiter): void => {
    for (const [lane, waiters] of queue.lanes) {
      if (!waiters.delete(waiter)) continue;
      if (waiters.size === 0) queue.lanes.delete(lane);
      queue.waiting--;
      waiting--;
      break;
    }
    forgetIfIdle(name, queue);
  };
  const count = (node: string | undefined, change: 1 | -1): void => {
    if (node === undefined) return;
    const now = (runningOf.get(node) ?? 0) + change;
    if (now === 0) runningOf.delete(node);
    else runningOf.set(node, now);
  };
  const weigh = ({ weights }: Queue<Waiter>, lane: Lane | undefined, sign: 1 | -1): void => {
    if (lane === undefined) return;
    const now = (weights.get(lane.name) ?? 0) + sign * (lane.weight ?? 1);
    if (now <= 0) weights.delete(lane.name);
    else weights.set(lane.name, now);
  };
  const hasLaneCapacity = (queue: Queue<Waiter> | undefined, lane: Lane | undefined): boolean => {
    if (queue === undefined || lane === undefined) return true;
    const now = queue.weights.get(lane.name) ?? 0;
    return now === 0 || now + (lane.weight ?? 1) <= share * SHARE_OF_LANE;
  };
  const start = (name: string, lane?: Lane): void => {
    const queue = find(name);
    weigh(queue, lane, 1);
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

  /** The next waiter of the next lane in turn; the lane then goes to the end. */
  const findReady = (queue: Queue<Waiter>): Waiting<Waiter> | undefined => {
    for (const [name, waiters] of queue.lanes)
      for (const entry of waiters.values()) {
        if (!hasLaneCapacity(queue, entry.lane)) break;
        if (!mayStart(entry.waiter)) continue;
        queue.lanes.delete(name);
        queue.lanes.set(name, waiters);
        return entry;
      }
    return undefined;
  };

  /** Whether a caller waits whose lane has capacity, or who is in this lane. */
  const isAnyReady = (queue: Queue<Waiter>, lane: Lane | undefined): boolean => {
    for (const [name, waiters] of queue.lanes) {
      if (name === (lane?.name ?? "")) return true;
      const [first] = waiters.values();
      if (first !== undefined && hasLaneCapacity(queue, first.lane)) return true;
    }
    return false;
  };

  return {
    mayStart: (name, lane) => {
      const queue = queues.get(name);
      // Another lane that waits for its own share does not delay this one.
      const isNext = queue === undefined || !isAnyReady(queue, lane);
      return isNext && hasCapacity(name, queue) && hasLaneCapacity(queue, lane);
    },
    start,
    finish: (name, lane) => {
      const queue = find(name);
      weigh(queue, lane, -1);
      queue.running--;
      running--;
      count(queue.node, -1);
      forgetIfIdle(name, queue);
    },
    join: (name, waiter, lane) => {
      if (waiting >= limits.total) return "full";
      const queue = find(name);
      if (queue.waiting >= limits.perQueue) return "queue_full";
      const waiters = queue.lanes.getOrInsertComputed(lane?.name ?? "", () => new Map());
      if (lane !== undefined && waiters.size >= Math.ceil(limits.perQueue * SHARE_OF_LANE))
        return "queue_full";
      waiters.set(waiter, { waiter, lane });
      queue.waiting++;
      rotation.set(name, queue);
      waiting++;
      return undefined;
    },
    leave: (name, waiter) => remove(name, find(name), waiter),
    next: () => {
      for (const [name, queue] of rotation) {
        if (!hasCapacity(name, queue)) continue;
        const ready = findReady(queue);
        if (ready === undefined) continue;
        const { waiter, lane } = ready;
        start(name, lane);
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
