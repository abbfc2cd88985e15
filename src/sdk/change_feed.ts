/**
 * Waits for changes of a table through its event stream, or for an interval if the service has none, and watches a page of it.
 *
 * @module
 */

import { type Connection, type TableFeed, TEMPORARY } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import { sleep } from "./deadline.ts";

export type Watcher = {
  /** Resolves soon after a change, or after this many milliseconds while no stream reports changes. */
  readonly wait: (everyMs: number, signal: AbortSignal) => Promise<void>;
  readonly end: () => void;
};

/** Groups changes in quick succession into one read, and spreads the reads of the watchers. */
const SETTLE_MS = 50;
const RETRY_MS = 2_000;
/** Longer than the service's interval of heartbeats. */
const SILENCE_MS = 40_000;

/** Joins the table's stream. The stream ends when its last watcher leaves. */
export function watchTable(connection: Connection, table: string): Watcher {
  const feed = connection.feeds.get(table) ?? startFeed(connection, table);
  let isBehind = false;
  let wake: (() => void) | undefined;
  const notify = (): void => {
    isBehind = true;
    wake?.();
  };
  feed.watchers.add(notify);
  return {
    wait: async (everyMs, signal) => {
      const woken = new AbortController();
      wake = () => woken.abort();
      try {
        const either = AbortSignal.any([signal, woken.signal]);
        const ms = feed.isOpen ? SILENCE_MS : everyMs;
        if (!isBehind) await sleep(ms, either).catch(() => signal.throwIfAborted());
        if (isBehind) await sleep(Math.random() * SETTLE_MS, signal);
      } finally {
        wake = undefined;
        isBehind = false;
      }
    },
    end: () => {
      feed.watchers.delete(notify);
      if (feed.watchers.size > 0) return;
      feed.abort.abort();
      if (connection.feeds.get(table) === feed) connection.feeds.delete(table);
    },
  };
}

function startFeed(connection: Connection, table: string): TableFeed {
  const feed: TableFeed = { watchers: new Set(), abort: new AbortController(), isOpen: false };
  connection.feeds.set(table, feed);
  void follow(connection, table, feed);
  return feed;
}

/** Reads the stream and reopens it when it ends, until the service has none or no watcher is left. */
async function follow(connection: Connection, table: string, feed: TableFeed): Promise<void> {
  const { signal } = feed.abort;
  let since: string | undefined;
  for (;;) {
    const ended = await readStream(connection, table, {
      signal,
      since,
      onEvent: (id) => {
        since = id ?? since;
        feed.isOpen = true;
        for (const notify of [...feed.watchers]) notify();
      },
    });
    const wasOpen = feed.isOpen;
    feed.isOpen = false;
    if (signal.aborted || ended === "rejected") return;
    // The watchers poll until the stream is open again.
    if (wasOpen) for (const notify of [...feed.watchers]) notify();
    await sleep(RETRY_MS * (0.5 + Math.random()), signal).catch(() => undefined);
  }
}

type Reading = {
  signal: AbortSignal;
  since: string | undefined;
  onEvent: (id: string | undefined) => void;
};

/** Reads a stream to its end. `rejected`: the service has no stream for this table. */
async function readStream(
  { baseUrl, apiKey }: Connection,
  table: string,
  { signal, since, onEvent }: Reading,
): Promise<"ended" | "rejected"> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keepTime = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
  };
  try {
    keepTime();
    const response = await fetch(`${baseUrl}/v1/data/db/${encodeURIComponent(table)}/changes`, {
      headers: {
        accept: "text/event-stream",
        authorization: `Bearer ${apiKey}`,
        ...(since === undefined ? {} : { "last-event-id": since }),
      },
      signal: AbortSignal.any([signal, silence.signal]),
      redirect: "manual",
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if (!isStream || response.body === null) {
      await response.body?.cancel();
      return TEMPORARY.includes(response.status) ? "ended" : "rejected";
    }
    let text = "";
    for (const reader = response.body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return "ended";
      keepTime();
      const blocks = (text + value).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks)
        if (!block.startsWith(":")) onEvent(/^id: (.+)$/m.exec(block)?.[1]);
    }
  } catch {
    return "ended"; // unreachable or interrupted: reopen it
  } finally {
    clearTimeout(timer);
  }
}

// Watches a page: requests it by its tag after each change of its table, or at intervals.

/** The options of the watch; the other options belong to the request. */
type Options = { readonly signal?: AbortSignal | undefined; readonly everyMs?: number | undefined };

/** Requests the page: `page` is `undefined` if it still has the tag `known`. */
export type Poll<Page> = (
  options: Options,
  known: string | undefined,
) => Promise<{ page: Page | undefined; tag: string | undefined }>;

const EVERY_MS = 2_000;
const NEVER = new AbortController().signal;

/** The page, and the new page after each change. @throws {TypeError} unless the interval is above 0 */
export async function* watchPage<Page>(
  poll: Poll<Page>,
  options: Options,
  join: () => Watcher,
): AsyncGenerator<Page, void, undefined> {
  const { everyMs = EVERY_MS, signal = NEVER } = options;
  if (!(everyMs > 0)) {
    throw new TypeError(`Cannot poll every ${everyMs} ms: everyMs must be a number above 0`);
  }
  let known: string | undefined;
  const watcher = join();
  try {
    for (;;) {
      const { page, tag } = await poll(options, known).catch((error: unknown) =>
        waitOut(error, known),
      );
      known = tag;
      if (page !== undefined) yield page;
      await watcher.wait(everyMs, signal);
    }
  } finally {
    watcher.end();
  }
}

/** A temporary failure changes nothing. */
function waitOut(error: unknown, known: string | undefined) {
  if (error instanceof DataError && error.retryable) return { page: undefined, tag: known };
  throw error;
}
