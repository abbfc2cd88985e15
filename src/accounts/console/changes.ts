/** The changes and the increased error codes of a selected span. @module */
import type { Change } from "./axis.ts";

/** An error code of a table, with its counts in a span and in as long a time before it. */
export type RisenCode = {
  app: string | null;
  table: string | null;
  code: string;
  now: number;
  before: number;
  /** Of stored requests; each can have several. */
  fields: { field: string; requests: number }[];
  keys: { keyId: string; name: string | null; requests: number }[];
};

/** The declaration of a push, as JSON, and of the push before it. */
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
  /** Those first that rose most. */
  codes: RisenCode[];
  changes: Change[];
  /** The latest changes before the end of the span. */
  pushes: PushedDefinition[];
};
