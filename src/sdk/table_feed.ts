/** The event stream of a table, shared by its listeners in a client. Opens again after an end, with the key of that moment. @module */

import {
  type Connection,
  fail,
  isRejectedKey,
  type Listener,
  readResponse,
  type TableFeed,
  unreadable,
} from "./data_call.ts";
import { DataError } from "./data_error.ts";
import { followStream } from "./event_stream.ts";

/** Joins the table's stream, which ends when its last listener leaves. A position needs its own stream. */
export function joinFeed(
  connection: Connection,
  table: string,
  { listener, since }: { listener: Listener; since?: string | undefined },
): { feed: TableFeed; leave: () => void } {
  const { feeds } = connection;
  const feed = (since === undefined ? feeds.get(table) : undefined) ?? open();
  feed.listeners.add(listener);
  return {
    feed,
    leave: () => {
      feed.listeners.delete(listener);
      if (feed.listeners.size > 0) return;
      feed.abort.abort();
      if (feeds.get(table) === feed) feeds.delete(table);
    },
  };

  function open(): TableFeed {
    const feed: TableFeed = {
      listeners: new Set([listener]),
      abort: new AbortController(),
      isOpen: false,
      cursor: since,
      error: undefined,
    };
    if (since === undefined) feeds.set(table, feed);
    void followFeed(connection, table, feed);
    return feed;
  }
}

/** Follows the stream until its last listener leaves, or the service rejects it. */
async function followFeed(connection: Connection, table: string, feed: TableFeed): Promise<void> {
  const { baseUrl, authorize, renew, feeds, restarts } = connection;
  const path = `/v1/data/db/${encodeURIComponent(table)}/changes`;
  const call = { name: `${table}.changes`, method: "GET", path } as const;
  let key = "";
  let hasRenewed = false;
  const restart = (): void => {
    // The new stream begins with `ready`: its listeners list the rows that the other role sees.
    feed.cursor = undefined;
    hasRenewed = false;
    feed.abort.abort();
    feed.abort = new AbortController();
    notify(feed, "restart");
  };
  restarts.add(restart);
  while (feed.listeners.size > 0 && feed.error === undefined) {
    const { signal } = feed.abort;
    const rejection = await followStream({
      url: baseUrl + path,
      toHeaders: async () => {
        const asked = await authorize();
        if (asked instanceof DataError && asked.retryable) return undefined;
        if (asked instanceof DataError) throw fail(call, asked.message, asked);
        key = asked;
        return { authorization: `Bearer ${key}` };
      },
      since: feed.cursor,
      signal,
      onEvent: (event) => {
        hasRenewed = false;
        if (!signal.aborted) notify(feed, event);
      },
      onEnd: () => {
        if (feed.isOpen) notify(feed, "end");
      },
    }).catch(toRejection);
    if (rejection === undefined) continue;
    const error =
      rejection instanceof DataError
        ? rejection
        : readResponse(call, rejection.response, rejection.text);
    if (!(error instanceof DataError)) feed.error = unreadable(call);
    else if (!isRejectedKey(error) || renew === undefined || hasRenewed)
      feed.error = explain(error);
    else {
      renew(key);
      hasRenewed = true;
    }
  }
  restarts.delete(restart);
  if (feed.error === undefined) return;
  // The next listener tries again.
  if (feeds.get(table) === feed) feeds.delete(table);
  notify(feed, "end");
}

/** A call without a key rejects with a `DataError`. */
function toRejection(error: unknown): DataError {
  if (error instanceof DataError) return error;
  throw error;
}

function notify(feed: TableFeed, event: Parameters<Listener>[0]): void {
  const isEvent = typeof event === "object";
  feed.isOpen = isEvent;
  if (isEvent) feed.cursor = event.id ?? feed.cursor;
  for (const listener of [...feed.listeners]) listener(event);
}

function explain(error: DataError): DataError {
  if (error.code !== "not_implemented") return error;
  const missing =
    "live updates need PREVIEW=live in the service, and are turned on for each app (set-app live on)";
  return new DataError(`${error.message}; ${missing}`, error);
}
