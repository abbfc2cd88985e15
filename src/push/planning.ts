/**
 * Plans of whole histories, which take a process seconds: one after the other, one at a time of each app, and few that
 * wait, so that no number of them delays other requests by more than one does. Knows no database and no clock.
 *
 * @module
 */
import { busy } from "./refusals.ts";

export type Planning = {
  /** @throws {Problem} push_busy — another one of this app is under way, or too many others are */
  readonly admit: <Result>(appId: string, work: () => Promise<Result>) => Promise<Result>;
  /** Works when those who came before have ended. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
};

/** Whoever waits behind so many is answered in time all the same. */
const MAX_ADMITTED = 4;

export function makePlanning(): Planning {
  const admitted = new Set<string>();
  let last: Promise<void> = Promise.resolve();
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
    inTurn: async (work) => {
      const before = last;
      const { promise, resolve } = Promise.withResolvers<void>();
      last = promise;
      try {
        await before;
        return await work();
      } finally {
        resolve();
      }
    },
  };
}
