/** The result of a write function whose idempotency key was already used. @module */

/** The first letter; no row's text begins with one of these. */
export const REPLAY = {
  /** The first response follows. */
  whole: "R",
  /** The first response was large; only its ids follow. */
  short: "I",
  /** The key was used with another request. */
  mismatch: "M",
  /** The key is new, and the app's storage for keys is full. */
  full: "F",
} as const;

/** A larger response is not stored, only its ids. */
export const MAX_STORED_RESPONSE_BYTES = 16_384;
