/**
 * Queues plans of whole histories, which need seconds of CPU: one at a time in total and per app,
 * with a short queue, so that any number of them delays other requests only as much as one.
 * Independent of database and clock.
 *
 * @module
 */
import { busy } from "./rejections.ts";

export type Planning = {
  /** @throws {Problem} push_busy — another plan of this app is running, or the queue is full */
  readonly admit: <Result>(appId: string, work: () => Promise<Result>) => Promise<Result>;
  /** Runs after the earlier plans. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
};

/** Max queue length: a plan behind this many others still finishes in time. */
const MAX_ADMITTED = 4;

export function makePlanning(): Planning {
  const admitted = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();
  return {
    admit: async (appId, work) => {
      if (admitted.has(appId) || admitted.size >= MAX_ADMITTED) throw busy();
      admitted.add(appId);
      try {
        return await work();
      } finally {
        admitted.delete(appId);
      }
    },
    inTurn: (work) => {
      const result = last.then(work);
      last = result.catch(() => undefined);
      return result;
    },
  };
}
