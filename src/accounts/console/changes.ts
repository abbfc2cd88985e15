/** What the Console shows of a selected time: what changed, and which errors rose. @module */
import type { Change } from "./axis.ts";

/** An error code of a table, with its counts in a span and in as long a time before it. */
export type RisenCode = {
  app: string | null;
  table: string | null;
  code: string;
  now: number;
  before: number;
  /** Of the requests that are kept; each may have several. */
  fields: { field: string; requests: number }[];
  keys: { keyId: string; name: string | null; requests: number }[];
};

/** What a push declared, as JSON, and what the one before it did. */
export type PushedDefinition = {
  app: string;
  seq: number;
  at: string;
  definition: string;
  before: string | null;
};

export type ShownChanges = {
  requests: number;
  requestsBefore: number;
  /** Those first that rose most. */
  codes: RisenCode[];
  changes: Change[];
  /** The latest ones before the end of the span. */
  pushes: PushedDefinition[];
};
