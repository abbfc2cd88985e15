/** The changes and the increased error codes of a selected span. @module */
import type { Change } from "./axis.ts";

/** An error code of a table, with its counts in a span and in the previous span. */
export type RisenCode = {
  app: string | null;
  table: string | null;
  code: string;
  now: number;
  before: number;
  /** The invalid fields of stored requests. A request can have several. With the first time in both spans. */
  fields: { field: string; requests: number; since: string }[];
  keys: { keyId: string; name: string | null; requests: number }[];
};

/** The declarations of a push and of the push before it, as JSON. */
export type PushedDefinition = {
  app: string;
  seq: number;
  at: string;
  definition: string;
  before: string | null;
};

export type ChangesView = {
  requests: number;
  requestsBefore: number;
  /** The largest increase first. */
  codes: RisenCode[];
  changes: Change[];
  /** The latest changes before the end of the span. */
  pushes: PushedDefinition[];
};
