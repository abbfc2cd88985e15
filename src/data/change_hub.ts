/** The subscribers of one table of one app. Reads the table's changes once for all of them. @module */
import type { Catalog } from "../catalog/mod.ts";
import type { EventStream, KeyRequestContext } from "../http/mod.ts";
import { type Log, logError } from "../observe.ts";
import { isOutage, Problem } from "../problem.ts";
import { encodeNews, type News } from "./change_stream.ts";

/** Reads the changes of a table since a cursor; `undefined` if the app is not live. */
export type ReadNews = (
  context: KeyRequestContext,
  since: string | null,
) => Promise<News | undefined>;

export type Subscriber = {
  readonly context: KeyRequestContext;
  readonly openedAt: number;
  /** Releases its slot among the app's streams. */
  readonly release: () => void;
  hub: Hub | undefined;
  /** `undefined` until the first read; changes wait until then. */
  stream: EventStream | undefined;
  readonly waiting: Uint8Array[];
  isEnded: boolean;
};

export type Hub = {
  readonly app: string;
  readonly table: string;
  readonly read: ReadNews;
  readonly subscribers: Set<Subscriber>;
  definition: unknown;
  cursor: string | null;
  isReading: boolean;
  /** Whether there may be changes after the cursor. */
  isBehind: boolean;
  /** Whether the last read failed for a reason other than an outage. */
  isFailing: boolean;
};

/** The hubs of a process, by app and table. */
export type Hubs = {
  readonly catalog: Pick<Catalog, "find">;
  readonly log: Log;
  readonly byTable: Map<string, Hub>;
};

/** Adds a subscriber to its table's hub; `undefined` if the app is not live. A new hub starts at the current state. */
export async function joinHub(
  hubs: Hubs,
  subscriber: Subscriber,
  { table, read }: { table: string; read: ReadNews },
): Promise<Hub | undefined> {
  const { appId: app } = subscriber.context.principal;
  const key = toKey({ app, table });
  let hub = hubs.byTable.get(key);
  if (hub === undefined) {
    const news = await read(subscriber.context, null);
    if (news === undefined) return undefined;
    // Another subscriber may have created it since then.
    hub = hubs.byTable.get(key) ?? makeHub(hubs, { app, table, read, cursor: news.cursor });
  }
  subscriber.hub = hub;
  hub.subscribers.add(subscriber);
  hubs.byTable.set(key, hub);
  return hub;
}

function makeHub(
  { catalog }: Hubs,
  { app, table, read, cursor }: Pick<Hub, "app" | "table" | "read" | "cursor">,
): Hub {
  return {
    ...{ app, table, read, cursor },
    subscribers: new Set(),
    definition: catalog.find(app, table)?.definition,
    isReading: false,
    // A running check may not include this app.
    isBehind: true,
    isFailing: false,
  };
}

function toKey({ app, table }: Pick<Hub, "app" | "table">): string {
  return `${app} ${table}`;
}

export function endSubscriber({ byTable }: Hubs, subscriber: Subscriber): void {
  if (subscriber.isEnded) return;
  subscriber.isEnded = true;
  subscriber.release();
  const { hub } = subscriber;
  hub?.subscribers.delete(subscriber);
  // A later subscriber may have a new hub by now.
  if (hub?.subscribers.size === 0 && byTable.get(toKey(hub)) === hub) byTable.delete(toKey(hub));
  subscriber.stream?.end();
}

export function endAll(hubs: Hubs, { subscribers }: Hub): void {
  for (const subscriber of [...subscribers]) endSubscriber(hubs, subscriber);
}

/** Reads the table's changes, if there may be any, and sends them to all its subscribers. */
export async function catchUp(hubs: Hubs, hub: Hub): Promise<void> {
  if (hub.isReading) return;
  hub.isReading = true;
  try {
    while (hub.isBehind || hasOtherColumns(hubs, hub)) await readOn(hubs, hub);
    hub.isFailing = false;
  } catch (error) {
    hub.isBehind = true; // the next check retries
    const isUnexpected = !isOutage(error);
    if (isUnexpected && !hub.isFailing) logError(hubs.log, "reading changes")(error);
    hub.isFailing = isUnexpected;
  }
  hub.isReading = false;
}

/** Whether a push changed the app's column set. */
function hasOtherColumns({ catalog }: Hubs, { app, table, definition }: Hub): boolean {
  return catalog.find(app, table)?.definition !== definition;
}

async function readOn(hubs: Hubs, hub: Hub): Promise<void> {
  const [reader] = hub.subscribers;
  const definition = hubs.catalog.find(hub.app, hub.table)?.definition;
  if (definition === undefined) endAll(hubs, hub);
  if (reader === undefined || definition === undefined) {
    hub.definition = definition;
    hub.isBehind = false;
    return;
  }
  hub.isBehind = false;
  const news = await readAs(hubs, hub, reader);
  if (news === undefined) return;
  hub.cursor = news.cursor;
  const isSame = definition === hub.definition;
  hub.definition = definition;
  if (isSame && news.kind !== "reset" && news.events === "[]") return;
  const sent: News = isSame ? news : { ...news, kind: "reset", events: "[]" };
  const chunk = encodeNews(sent);
  for (const subscriber of hub.subscribers)
    if (subscriber.stream === undefined) subscriber.waiting.push(chunk);
    else subscriber.stream.send(chunk);
}

/** Uses the key of one subscriber. If its key is rejected, its stream ends, and the next subscriber's key is used. */
async function readAs(hubs: Hubs, hub: Hub, reader: Subscriber): Promise<News | undefined> {
  try {
    const news = await hub.read(reader.context, hub.cursor);
    if (news === undefined) endAll(hubs, hub);
    return news;
  } catch (error) {
    hub.isBehind = true;
    const isLeaving = reader.isEnded || reader.context.request.signal.aborted;
    if (!isLeaving && !(error instanceof Problem && error.code === "unauthenticated")) throw error;
    endSubscriber(hubs, reader);
    return undefined;
  }
}
