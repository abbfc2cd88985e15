/**
 * Requests and changes of the Console on one time axis: the axis, the changes of a selected span, and requests that failed, were
 * slow or were rejected.
 *
 * @module
 */

import * as v from "valibot";
import {
  type Checked,
  count,
  flag,
  many,
  oneOf,
  orNull,
  record,
  shaped,
  text,
  time,
} from "../actions/columns.ts";
import { DEFINITION } from "./tables.ts";

// Requests and changes of the Console on one time axis.

/** A push, an entry of the audit log, or a key that expired. */
const CHANGE = record({
  at: time(),
  /** `push`, `expire_key`, or the action of the entry. */
  action: text(),
  app: orNull(text()),
  /** A person's id, a key's id, or a fixed name such as `operator`; empty for a key that expired. */
  actor: text(),
  actorEmail: orNull(text()),
  /** The email address of the person in the entry. */
  email: orNull(text()),
  /** The details of an entry as truncated JSON, or the name of a push or a key. */
  details: text(),
  /** The number of the push. */
  seq: orNull(count()),
  /** The id of the key that pushed or expired. */
  keyId: orNull(text()),
});
export type Change = Checked<typeof CHANGE>;

/** Its index, and its counts of requests, errors and rejections. */
export const STEP = [v.number(), v.number(), v.number(), v.number()] as const;

export const AXIS = record({
  /** The start of step 0. */
  since: time(),
  stepS: count(),
  steps: count(),
  /** Steps with requests, with their latencies. Steps of the previous span have negative indexes. */
  counted: shaped(v.array(v.tuple([...STEP, v.array(v.array(v.number()))]))),
  /** Newest first. */
  changes: many(CHANGE),
});
export type Axis = Checked<typeof AXIS>;

// The changes and the increased error codes of a selected span.

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

// Failed, slow and rejected requests in the Console.

const STORED_REQUEST = {
  id: text(),
  app: orNull(text()),
  /** As the next page begins, with microseconds. */
  at: text(),
  method: text(),
  route: text(),
  status: count(),
  code: orNull(text()),
  ms: count(),
  /** The key that was presented. */
  keyId: orNull(text()),
  table: orNull(text()),
  /** JSON pointers to the invalid fields. */
  paths: many(text()),
  /** The class of the value at each of these paths; empty if none is stored. */
  found: many(text()),
  /** The number of requests that the entry represents: the stored request, and equal requests that were not stored. */
  requests: count(),
  /** Whether the Console sent it for its pages of rows. */
  isOfConsole: flag(),
};
const LISTED = many(record(STORED_REQUEST));
export type StoredRequest = Checked<typeof LISTED>[number];

export const REQUEST_KINDS = ["rejected", "failed", "slow"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

export const REQUESTS_PAGE = record({ requests: LISTED });

const REQUEST_VIEW = record({
  ...STORED_REQUEST,
  /** Null if the key was deleted. */
  key: orNull(
    record({
      name: text(),
      app: text(),
      scopes: many(text()),
      expiresAt: orNull(time()),
      revokedAt: orNull(time()),
    }),
  ),
  /** The latest pushes of the app before the request, newest first: of a request without invalid fields, one. */
  pushes: many(PUSHED_DEFINITION),
});
export type RequestView = Checked<typeof REQUEST_VIEW>;

export const REQUEST_PAGE = record({
  /** The entry with the id, or the entry that counts the request with the id; null without one. */
  request: orNull(REQUEST_VIEW),
  /** Without an entry: the number of requests in the span of the id, 0 for none or before they are added. */
  counted: count(),
  /** Without an entry: the latest stored requests in the span of the id. */
  near: LISTED,
});
export type RequestContent = Checked<typeof REQUEST_PAGE>;

const ROW_CHANGE = record({
  id: count(),
  rowId: text(),
  /** The same for all changes of one request. */
  at: text(),
  /** The same for all changes that belong together: of a request, or of an act of several requests in the Console. */
  act: text(),
  /** Null: a key or a person of which nothing is stored any more. */
  by: orNull(record({ kind: oneOf(["key", "person", "console"]), id: text(), name: text() })),
  /** The values before as JSON, and those that an update changed; null for a deleted row. */
  before: text(),
  after: orNull(text()),
  /** A reference deleted or changed the row, because the request deleted another one. */
  isCaused: flag(),
  /** The request created the row: it has no values. And the last change of the row. */
  isCreated: flag(),
  lastId: orNull(count()),
});
export type RowChange = Checked<typeof ROW_CHANGE>;

export const TAKEN_READ = record({
  /** Per table: the ids of the changes, oldest first, and the number of their rows. */
  taken: many(record({ table: text(), ids: many(count()), rows: count() })),
});

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
