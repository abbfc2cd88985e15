/**
 * Whose turn it is: a bounded queue a lane (an app, or the house itself), served in rotation, so that an app at its
 * share waits behind itself and never in front of another. Knows no connection and no clock.
 *
 * @module
 */

export type AdmissionLimits = {
  /** Statements under way at once, of all lanes. */
  connections: number;
  /** Callers waiting in one lane, and in all of them. */
  laneQueue: number;
  queue: number;
};

/** `lane_full`: the caller's own doing; `full`: everybody's. */
export type Refusal = "lane_full" | "full";

export type Admission<Waiter> = {
  /** Whether a caller of this lane may start at once, given a free connection. */
  readonly mayStart: (lane: string) => boolean;
  readonly start: (lane: string) => void;
  readonly finish: (lane: string) => void;
  /** Joins the lane's queue, where there is room. */
  readonly join: (lane: string, waiter: Waiter) => Refusal | undefined;
  /** Leaves the queue unserved: the waiter has given up. */
  readonly leave: (lane: string, waiter: Waiter) => void;
  /** The next waiter in rotation, taken out of its queue and started. */
  readonly next: () => Waiter | undefined;
  readonly waiting: () => number;
  readonly running: () => number;
};

type Lane<Waiter> = { running: number; waiters: Set<Waiter> };

/** From this many connections on, the last one is never one lane's alone. */
const SHARED_FROM = 4;

export function makeAdmission<Waiter>(limits: AdmissionLimits): Admission<Waiter> {
  const share = limits.connections >= SHARED_FROM ? limits.connections - 1 : limits.connections;
  const lanes = new Map<string, Lane<Waiter>>();
  /** Lanes with waiters, the next in turn first. */
  const rotation = new Map<string, Lane<Waiter>>();
  let waiting = 0;
  let running = 0;

  const find = (name: string): Lane<Waiter> => {
    const found = lanes.get(name);
    if (found !== undefined) return found;
    const made: Lane<Waiter> = { running: 0, waiters: new Set() };
    lanes.set(name, made);
    return made;
  };
  const forgetIfIdle = (name: string, lane: Lane<Waiter>): void => {
    if (lane.waiters.size === 0) rotation.delete(name);
    if (lane.waiters.size === 0 && lane.running === 0) lanes.delete(name);
  };
  const remove = (name: string, lane: Lane<Waiter>, waiter: Waiter): void => {
    if (lane.waiters.delete(waiter)) waiting--;
    forgetIfIdle(name, lane);
  };
  const start = (name: string): void => {
    find(name).running++;
    running++;
  };

  return {
    mayStart: (name) => {
      const lane = lanes.get(name);
      return lane === undefined || (lane.waiters.size === 0 && lane.running < share);
    },
    start,
    finish: (name) => {
      const lane = find(name);
      lane.running--;
      running--;
      forgetIfIdle(name, lane);
    },
    join: (name, waiter) => {
      if (waiting >= limits.queue) return "full";
      const lane = find(name);
      if (lane.waiters.size >= limits.laneQueue) return "lane_full";
      lane.waiters.add(waiter);
      rotation.set(name, lane);
      waiting++;
      return undefined;
    },
    leave: (name, waiter) => remove(name, find(name), waiter),
    next: () => {
      for (const [name, lane] of rotation) {
        if (lane.running >= share) continue;
        const [waiter] = lane.waiters;
        if (waiter === undefined) continue;
        start(name);
        // To the end of the rotation: every other lane comes first now.
        rotation.delete(name);
        rotation.set(name, lane);
        remove(name, lane, waiter);
        return waiter;
      }
      return undefined;
    },
    waiting: () => waiting,
    running: () => running,
  };
}
