/**
 * Ticker: what is under way is looked at every few milliseconds, so that a call that is quick, as nearly all are, costs
 * no timer and no listener of its own. Deadlines are kept to within a round.
 *
 * @module
 */

/** Something under way. */
export type Ticking = {
  /** Called once a round with the time, in milliseconds of `performance.now`. */
  readonly tick: (now: number) => void;
};

export type Ticker = {
  readonly add: (ticking: Ticking) => void;
  readonly remove: (ticking: Ticking) => void;
};

const TICK_MS = 20;

/** Ticker that are made while there is something to look at. */
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
