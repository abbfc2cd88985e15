/**
 * The changes of a table from its event stream, and watches of a page: by the streams of its tables, or by polling if the
 * service has none.
 *
 * @module
 */

import { type Call, type Connection, type Listener, VISIBLE } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import { sleep } from "./deadline.ts";
import { SILENCE_MS, type StreamEvent } from "./event_stream.ts";
import { listTables, type TableSources } from "./related.ts";
import type { AnyRow, AnyWatch, ChangesOptions, Page, TableChanges } from "./table_client.ts";
import { joinFeed } from "./table_feed.ts";

/** Max events that a slow caller has not read, as characters of JSON: then it reads the table again. */
const MAX_WAITING = 1_000_000;
/** A wait that only an event ends. */
const FOREVER_MS = Number.POSITIVE_INFINITY;

/**
 * The changes of the table until `signal` aborts.
 *
 * @throws {TypeError} `since` cannot be a cursor
 * @throws {DataError} the service rejects the stream
 */
export async function* readChanges(
  connection: Connection,
  table: string,
  { signal, since }: Pick<ChangesOptions, "since"> & { signal: AbortSignal },
): AsyncGenerator<TableChanges<AnyRow>, void, undefined> {
  if (since !== undefined && !VISIBLE.test(since))
    throw new TypeError(`Cannot continue after "${since}": must be the cursor of an event`);
  let waiting: StreamEvent[] = [];
  let wake = (): void => undefined;
  const listener: Listener = (event) => {
    // Rows of the former role do not reach the caller.
    if (event === "restart") waiting = [];
    else if (event !== "end") waiting = enqueue(waiting, event);
    wake();
  };
  const { feed, leave } = joinFeed(connection, table, { listener, since });
  // The stream of another listener has begun, and every change after its cursor follows.
  if (since === undefined && feed.cursor !== undefined)
    waiting = [{ id: feed.cursor, type: "ready", data: "[]" }];
  try {
    for (;;) {
      const event = waiting.shift();
      if (event !== undefined) yield toChanges(event);
      else if (feed.error !== undefined) throw feed.error;
      else
        await sleep(FOREVER_MS, signal, (end) => {
          wake = end;
        });
    }
  } finally {
    leave();
  }
}

/** A reset replaces earlier events. */
function enqueue(waiting: StreamEvent[], event: StreamEvent): StreamEvent[] {
  if (event.type === "reset") return [event];
  const all = [...waiting, event];
  const length = all.reduce((sum, { data }) => sum + data.length, 0);
  return length > MAX_WAITING && waiting.length > 0
    ? [{ id: event.id, type: "reset", data: "[]" }]
    : all;
}

type Change = { readonly put?: AnyRow; readonly delete?: string };

function toChanges({ id, type, data }: StreamEvent): TableChanges<AnyRow> {
  const changes: readonly Change[] = JSON.parse(data);
  return {
    type: type === "ready" || type === "reset" ? type : "changes",
    cursor: id ?? "",
    put: changes.flatMap((change) => change.put ?? []),
    deleted: changes.flatMap((change) => change.delete ?? []),
  };
}

// Watches a page: requests it by its tag after each change of its tables, or at intervals.

type Watched = {
  readonly connection: Connection;
  readonly table: string;
  readonly sources: TableSources | undefined;
  /** Requests a page: `page` is `undefined` if it still has the tag `ifNoneMatch`. */
  readonly request: (
    options: AnyWatch,
    sent: Pick<Call, "signal" | "ifNoneMatch">,
  ) => Promise<{ page: Page<AnyRow> | undefined; tag: string | undefined }>;
};
type Options = AnyWatch & { readonly signal: AbortSignal };

/** A response of which the page consists: usually the only one. */
type Part = Pick<AnyWatch, "after" | "limit"> & {
  readonly page: Page<AnyRow>;
  readonly tag: string | undefined;
};

const EVERY_MS = 2_000;
/** Groups changes in quick succession into one read, and spreads the reads of the watchers. */
const SETTLE_MS = 50;
/** Max responses of a page that the limit of visits ends early. */
const MAX_PARTS = 20;

/**
 * The page, and the new page after each change, until `signal` aborts. Without a schema, the table
 * of a reference is unknown: then it polls.
 *
 * @throws {TypeError} unless the interval is above 0
 */
export async function* watchPage(
  { connection, table, sources, request }: Watched,
  options: Options,
): AsyncGenerator<Page<AnyRow>, void, undefined> {
  const { signal, everyMs = EVERY_MS, select, where } = options;
  if (!(everyMs > 0)) {
    throw new TypeError(`Cannot poll every ${everyMs} ms: everyMs must be a number above 0`);
  }
  let known: readonly Part[] = [];
  let isBehind = false;
  let wake = (): void => undefined;
  const listener = (): void => {
    isBehind = true;
    wake();
  };
  const joined = listTables(table, { select, where }, sources).map((name) =>
    name === undefined ? undefined : joinFeed(connection, name, { listener }),
  );
  try {
    for (;;) {
      isBehind = false;
      const parts = await readParts(request, options, known).catch(waitOut);
      const isSame = parts?.every((part, index) => part === known[index]);
      if (parts !== undefined && !(isSame === true && parts.length === known.length)) {
        known = parts;
        yield join(parts);
      }
      const isLive = joined.every((join) => join?.feed.isOpen);
      if (!isBehind)
        await sleep(isLive ? SILENCE_MS : everyMs, signal, (end) => {
          wake = end;
        });
      if (isBehind) await sleep(Math.random() * SETTLE_MS, signal);
    }
  } finally {
    for (const join of joined) join?.leave();
  }
}

/** Continues a page that ended early: rows can follow that belong to it. */
async function readParts(
  request: Watched["request"],
  options: Options,
  before: readonly Part[],
): Promise<Part[]> {
  const parts: Part[] = [];
  let { after, limit } = options;
  for (;;) {
    const old = before[parts.length];
    const known = old?.after === after && old?.limit === limit ? old : undefined;
    const position = parts.length === 0 ? options : { ...options, offset: undefined, after, limit };
    const { page, tag } = await request(position, {
      signal: options.signal,
      ifNoneMatch: known?.tag,
    });
    const part = page === undefined ? known : { after, limit, page, tag };
    if (part === undefined) return parts;
    parts.push(part);
    const left: number = (limit ?? part.page.limit) - part.page.rows.length;
    if (typeof part.page.next !== "string" || left <= 0 || parts.length === MAX_PARTS) return parts;
    after = part.page.next;
    limit = left;
  }
}

function join(parts: readonly Part[]): Page<AnyRow> {
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined) throw new Error("A page has a response");
  if (first === last) return first.page;
  const { limit, offset, count } = first.page;
  const rows = parts.flatMap(({ page }) => page.rows);
  return { ...last.page, limit, offset, ...(count === undefined ? {} : { count }), rows };
}

/** A temporary failure changes nothing. */
function waitOut(error: unknown): undefined {
  if (error instanceof DataError && error.retryable) return undefined;
  throw error;
}
