/** What a function of a write returns instead of the row where its idempotency key was used before. @module */

/** The letter in front: no row's text begins with one. */
export const REPLAY = {
  /** The first answer follows. */
  whole: "R",
  /** The first answer was large; what follows has its ids alone. */
  short: "I",
  /** The key was used with another request. */
  mismatch: "M",
  /** The key is new, and the app has used up its room for keys. */
  full: "F",
} as const;

/** A larger answer is not kept, but the ids in it are. */
export const MAX_KEPT_ANSWER_BYTES = 16_384;
