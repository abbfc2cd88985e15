/** Random choices from a seed, the same in every run. @module */

/** The seed of the slow tier. */
export const FUZZ_SEED = Number(process.env["FUZZ_SEED"] ?? 1000);

/** Returns a whole number from 0 to below `below`. */
export type Random = (below: number) => number;

export function makeRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export function pick<Item>(random: Random, list: readonly Item[]): Item {
  const item = list[random(list.length)];
  if (item === undefined) throw new Error("Nothing to pick from");
  return item;
}

export const isTrue = (random: Random, oneIn: number) => random(oneIn) === 0;
