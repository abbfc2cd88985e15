/**
 * Rounds: what is under way is looked at every few milliseconds, so that a call that is quick, as nearly all are, costs
 * no timer and no listener of its own. Deadlines are kept to within a round.
 *
 * @module
 */

/** Something under way. */
export type Watched = {
  /** Called once a round with the time, in milliseconds of `performance.now`. */
  readonly look: (now: number) => void;
};

export type Rounds = {
  readonly add: (watched: Watched) => void;
  readonly remove: (watched: Watched) => void;
};

const ROUND_MS = 20;

/** Rounds that are made while there is something to look at. */
export function makeRounds(): Rounds {
  const all = new Set<Watched>();
  let timer: Timer | undefined;
  const goRound = (): void => {
    if (all.size === 0) {
      clearInterval(timer);
      timer = undefined;
      return;
    }
    const now = performance.now();
    for (const watched of [...all]) watched.look(now);
  };
  return {
    add: (watched) => {
      all.add(watched);
      timer ??= setInterval(goRound, ROUND_MS);
    },
    remove: (watched) => void all.delete(watched),
  };
}
