/** The changes and the increased error codes of a selected span. @module */
import { type Checked, count, many, orNull, record, text, time } from "../actions/columns.ts";
import { CHANGE } from "./axis.ts";

/** An error code of a table, with its counts in a span and in the previous span. */
const RISEN_CODE = record({
  app: orNull(text()),
  table: orNull(text()),
  code: text(),
  now: count(),
  before: count(),
  /** The invalid fields of stored requests. A request can have several. With the first time in both spans. */
  fields: many(record({ field: text(), requests: count(), since: time() })),
  keys: many(record({ keyId: text(), name: orNull(text()), requests: count() })),
});
export type RisenCode = Checked<typeof RISEN_CODE>;

/** The declarations of a push and of the push before it, as JSON. */
const PUSHED_DEFINITION = record({
  app: text(),
  seq: count(),
  at: time(),
  definition: text(),
  before: orNull(text()),
});
export type PushedDefinition = Checked<typeof PUSHED_DEFINITION>;

export const CHANGES_PAGE = record({
  requests: count(),
  requestsBefore: count(),
  /** The largest increase first. */
  codes: many(RISEN_CODE),
  changes: many(CHANGE),
  /** The latest changes before the end of the span. */
  pushes: many(PUSHED_DEFINITION),
});
export type ChangesView = Checked<typeof CHANGES_PAGE>;
