/** The differences between a released version and this tree that users find in the changelog. @module */
import type { Difference } from "./replay.ts";

export type Accepted = {
  /** Words of the changelog's line. */
  why: string;
  explains: (difference: Difference) => boolean;
};

export const ACCEPTED: readonly Accepted[] = [];
