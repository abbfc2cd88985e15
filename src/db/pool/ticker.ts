/**
 * Ticker: one timer checks everything in progress every few milliseconds, so that quick calls, which are nearly all, need
 * no timer and no listener. Deadlines are exact to one tick.
 *
 * @module
 */

/** An operation in progress. */
export type Ticking = {
  /** Called at every tick with the time, in milliseconds of `performance.now`. */
  readonly tick: (now: number) => void;
};

export type Ticker = {
  readonly add: (ticking: Ticking) => void;
  readonly remove: (ticking: Ticking) => void;
};

const TICK_MS = 20;

/** A ticker that runs only while there is something to check. */
export function makeTicker(): Ticker {
  const all = new Set<Ticking>();
  let timer: Timer | undefined;
  const tickAll = (): void => {
    if (all.size === 0) {
      clearInterval(timer);
      timer = undefined;
      return;
    }
    const now = performance.now();
    for (const ticking of [...all]) ticking.tick(now);
  };
  return {
    add: (ticking) => {
      all.add(ticking);
      timer ??= setInterval(tickAll, TICK_MS);
    },
    remove: (ticking) => void all.delete(ticking),
  };
}
