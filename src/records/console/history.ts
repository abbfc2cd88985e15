/** The history of rows in the Console. @module */
import {
  type Checked,
  count,
  flag,
  many,
  oneOf,
  orNull,
  record,
  text,
} from "../actions/columns.ts";
import { DEFINITION } from "./tables.ts";

const ROW_CHANGE = record({
  id: count(),
  rowId: text(),
  /** The same for all changes of one request. */
  at: text(),
  /** Null: a key or a person of which nothing is stored any more. */
  by: orNull(record({ kind: oneOf(["key", "person", "console"]), id: text(), name: text() })),
  /** The values before as JSON, and those that an update changed; null for a deleted row. */
  before: text(),
  after: orNull(text()),
});
export type RowChange = Checked<typeof ROW_CHANGE>;

export const HISTORY_READ = record({
  appId: text(),
  isDisabled: flag(),
  isOn: flag(),
  days: count(),
  /** Whether older changes wait until a renamed or dropped column has been renamed or dropped in them. */
  isEdited: flag(),
  definition: DEFINITION,
  /** Newest first. */
  changes: many(ROW_CHANGE),
});
