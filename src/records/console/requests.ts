/** Failed, slow and rejected requests in the Console. @module */
import { type Checked, count, flag, many, orNull, record, text, time } from "../actions/columns.ts";

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
  /** The last push of the app before the request. */
  lastPush: orNull(record({ seq: count(), at: time() })),
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
