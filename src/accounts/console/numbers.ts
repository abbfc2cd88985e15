/** What the Console knows of the requests of an app, or of all. @module */

/** How far back numbers reach. */
export const SPANS = ["hour", "day", "week"] as const;
export type Span = (typeof SPANS)[number];

/** What was asked within a span. */
export type Numbers = {
  requests: number;
  /** Answers of 500 and above. */
  errors: number;
  /** Answers of 400 to 499. */
  refusals: number;
  /** How many were in each bucket of `std/latency.ts`. */
  latencies: number[];
  /** The number of each step that has any, from 0, with what was counted in it. */
  counted: [step: number, requests: number, errors: number, refusals: number][];
};
