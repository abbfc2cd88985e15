/**
 * The subscribers of one table of one app. Reads the table's changes once for all of them; of a person, once for each proof, because
 * people see different rows. Never groups by what a signed context claims beside the proof, such as a key id.
 *
 * @module
 */

import type { EventStream, KeyRequestContext } from "../../http/mod.ts";
import { type Log, logError } from "../../observe.ts";
import { isOutage, Problem } from "../../problem.ts";
import {
  type Caller,
  type Catalog,
  MAX_CATALOG_AGE_MS,
  type ServedDefinition,
  watchedTables,
} from "../../tables/catalog/mod.ts";
import { type CursorOwner, type Cursors, isIncluded } from "./cursors.ts";

/** Changes from the database: the position after them, their kind, and the events as JSON. */
export type News = { position: string; kind: "ready" | "changes" | "reset"; events: string };

const encoder = new TextEncoder();

export function encodeNews({ kind, events }: News, cursor: string): Uint8Array {
  return encoder.encode(`id: ${cursor}\nevent: ${kind}\ndata: ${events}\n\n`);
}

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
  /** `undefined` until the first read. */
  stream: EventStream | undefined;
  /** The position of the last event before there was a stream. */
  missed: string | undefined;
  /** The position of the first read; `undefined` once a later event was sent. */
  first: string | undefined;
  isEnded: boolean;
};

export type Hub = {
  readonly app: string;
  readonly table: string;
  /** Who reads the table. */
  readonly caller: Caller;
  /** The role and the proof of the only key whose streams it has, if it is a person's. */
  readonly ofProof: string | undefined;
  readonly read: ReadNews;
  readonly subscribers: Set<Subscriber>;
  definition: ServedDefinition | undefined;
  position: string | null;
  isReading: boolean;
  /** Whether there may be changes after the position. */
  isBehind: boolean;
  /** Whether the last read failed for a reason other than an outage. */
  isFailing: boolean;
};

/** The hubs of a process, by app and table, and for people also by role and proof. */
export type Hubs = {
  readonly catalog: Pick<Catalog, "find" | "findFor" | "learnedAt">;
  readonly cursors: Cursors;
  readonly log: Log;
  readonly byTable: Map<string, Hub>;
};

/** Adds a subscriber to its table's hub; `undefined` if the app is not live. A new hub starts at the current state. */
export async function joinHub(
  hubs: Hubs,
  subscriber: Subscriber,
  { table, read }: { table: string; read: ReadNews },
): Promise<Hub | undefined> {
  const { appId: app, proof, person } = subscriber.context.principal;
  const caller = { appId: app, person };
  // The database compares both in each read.
  const ofProof = person && `${person.role} ${proof.toHex()}`;
  const key = toKey({ app, table, ofProof });
  let hub = hubs.byTable.get(key);
  if (hub === undefined) {
    const news = await read(subscriber.context, null);
    if (news === undefined) return undefined;
    // Another subscriber may have created it since then.
    hub =
      hubs.byTable.get(key) ??
      makeHub(hubs, { app, table, caller, ofProof, read, position: news.position });
  }
  subscriber.hub = hub;
  hub.subscribers.add(subscriber);
  hubs.byTable.set(key, hub);
  return hub;
}

function makeHub(
  { catalog }: Hubs,
  made: Pick<Hub, "app" | "table" | "caller" | "ofProof" | "read" | "position">,
): Hub {
  return {
    ...made,
    subscribers: new Set(),
    definition: catalog.findFor(made.caller, made.table)?.definition,
    isReading: false,
    // A running check may not include this app.
    isBehind: true,
    isFailing: false,
  };
}

function toKey({ app, table, ofProof = "" }: Pick<Hub, "app" | "table" | "ofProof">): string {
  return `${app} ${table} ${ofProof}`;
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

/** Whether a push changed the app's column set, or what the person sees. */
function hasOtherColumns({ catalog }: Hubs, { caller, table, definition }: Hub): boolean {
  return catalog.findFor(caller, table)?.definition !== definition;
}

/** The tables whose changes are news for the hub's subscribers: of a person also those that decide which rows the person sees. */
export function listWatched({ table, definition }: Hub): string[] {
  const view = definition?.served?.view;
  return [table, ...(view === undefined ? [] : watchedTables(view))];
}

/** Longer than any process serves rows without having checked for pushes. */
const SETTLED_MS = MAX_CATALOG_AGE_MS + 100;

/**
 * Waits until every process serves the columns that this process has learned of. The reader of a `ready` or `reset` lists the
 * table at any process.
 */
export async function settle({ catalog }: Hubs, { app, table }: CursorOwner): Promise<void> {
  for (;;) {
    const definition = catalog.find(app, table)?.definition;
    if (definition === undefined) return;
    const ms = catalog.learnedAt(definition) + SETTLED_MS - performance.now();
    if (ms <= 0) return;
    await Bun.sleep(ms);
  }
}

async function readOn(hubs: Hubs, hub: Hub): Promise<void> {
  if (hasOtherColumns(hubs, hub)) await settle(hubs, hub);
  const [reader] = hub.subscribers;
  const definition = hubs.catalog.findFor(hub.caller, hub.table)?.definition;
  if (definition === undefined) endAll(hubs, hub);
  if (reader === undefined || definition === undefined) {
    hub.definition = definition;
    hub.isBehind = false;
    return;
  }
  hub.isBehind = false;
  const news = await readAs(hubs, hub, reader);
  if (news === undefined) return;
  const { position } = news;
  hub.position = position;
  hub.definition = definition;
  if (news.kind !== "reset" && news.events === "[]") return;
  const chunk = encodeNews(news, await hubs.cursors.seal(hub, position));
  for (const subscriber of hub.subscribers) sendLater(subscriber, { position, chunk });
}

/** Sends an event, unless the first read was later: a lower state must not follow a higher one. */
function sendLater(
  subscriber: Subscriber,
  { position, chunk }: { position: string; chunk: Uint8Array },
): void {
  const { stream, first } = subscriber;
  if (stream === undefined) {
    subscriber.missed = position;
    return;
  }
  if (first !== undefined && isIncluded(position, first)) return;
  subscriber.first = undefined;
  stream.send(chunk);
}

/**
 * Whether the first event of a stream includes what the table's other subscribers were sent before the stream was open. The
 * reader of `ready` or `reset` lists the table, so it misses nothing.
 */
export function isComplete({ kind, position }: News, { missed }: Subscriber): boolean {
  return kind !== "changes" || missed === undefined || isIncluded(missed, position);
}

/** Uses the key of one subscriber. If its key is rejected, its stream ends, and the next subscriber's key is used. */
async function readAs(hubs: Hubs, hub: Hub, reader: Subscriber): Promise<News | undefined> {
  try {
    const news = await hub.read(reader.context, hub.position);
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
