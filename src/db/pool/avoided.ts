/** Queues that recently delayed others on a shared connection: for a while, their calls get exclusive connections. @module */

type Avoided = {
  readonly add: (queue: string) => void;
  readonly has: (queue: string) => boolean;
};

const AVOID_MS = 5000;

export function makeAvoided(): Avoided {
  const ends = new Map<string, number>();
  return {
    add: (queue) => void ends.set(queue, performance.now() + AVOID_MS),
    has: (queue) => {
      const end = ends.get(queue);
      if (end === undefined) return false;
      if (performance.now() < end) return true;
      ends.delete(queue);
      return false;
    },
  };
}
