/**
 * Live updates of one process. Every 250 ms the feed queries the database for the tables of subscribed apps that
 * changed, and reads the changes of each of these tables once for all subscribers. Without subscribers it does
 * nothing.
 *
 * No change is missed. A subscriber joins its table before its first read, so what is read for the table later reaches
 * the subscriber. An event is the state of a row, not a step, so duplicates are harmless.
 *
 * @see ../db/migrations/live.sql
 * @module
 */
import type { Catalog } from "../catalog/mod.ts";
import { call, type Database } from "../db/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import { type Log, noteFault } from "../observe.ts";
import { isOutage, Problem } from "../problem.ts";
import {
  type ChangeStream,
  encodeNews,
  HEARTBEAT,
  makeChangeStream,
  type News,
} from "./change_stream.ts";

/** Reads the changes of a table since a cursor; `undefined` if the app is not live. */
export type ReadNews = (
  context: KeyRequestContext,
  since: string | null,
) => Promise<News | undefined>;

export type ChangeFeed = {
  /**
   * A stream of the table's changes; `undefined` if the app is not live.
   *
   * @throws {Problem} rate_limited — the app or the key has too many streams; unavailable — the process stops
   */
  readonly open: (
    context: KeyRequestContext,
    options: { table: string; since: string | null; read: ReadNews },
  ) => Promise<Response | undefined>;
  /** Ends all streams, and opens no others. */
  readonly end: () => void;
};

export type ChangeFeedDeps = {
  db: Database;
  catalog: Pick<Catalog, "find">;
  log: Log;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
  maxStreams: MaxStreams;
};

/** Max streams in a process: per app and per key. */
export type MaxStreams = { readonly app: number; readonly key: number };
export const MAX_STREAMS: MaxStreams = { app: 1000, key: 500 };

const LOOK_INTERVAL_MS = 250;
/** Below the idle timeout of listeners and proxies. */
const HEARTBEAT_MS = 15_000;
/** After this time a stream ends and its reader reconnects, so that no stream outlives its reader for long. */
const MAX_AGE_MS = 900_000;
const RETRY_S = 5;

type Subscriber = {
  readonly context: KeyRequestContext;
  readonly openedAt: number;
  /** `undefined` until the first read; changes wait until then. */
  stream: ChangeStream | undefined;
  readonly waiting: Uint8Array[];
  isEnded: boolean;
};

/** One table of one app with its subscribers. */
type Hub = {
  readonly app: string;
  readonly table: string;
  readonly read: ReadNews;
  readonly subscribers: Set<Subscriber>;
  definition: unknown;
  cursor: string | null;
  isReading: boolean;
  /** Whether there may be changes after the cursor. */
  isBehind: boolean;
};

type State = {
  readonly deps: ChangeFeedDeps;
  readonly hubs: Map<string, Hub>;
  /** The cursor of the last check. */
  seen: string | undefined;
  beatAt: number;
  isLooking: boolean;
  isEnded: boolean;
};

export function makeChangeFeed(deps: ChangeFeedDeps): ChangeFeed {
  const state: State = {
    deps,
    hubs: new Map(),
    seen: undefined,
    beatAt: 0,
    isLooking: false,
    isEnded: false,
  };
  return {
    open: (context, options) => open(state, context, options),
    end: () => {
      state.isEnded = true;
      for (const hub of state.hubs.values()) endAll(state, hub);
    },
  };
}

async function open(
  state: State,
  context: KeyRequestContext,
  { table, since, read }: { table: string; since: string | null; read: ReadNews },
): Promise<Response | undefined> {
  checkRoom(state, context);
  const hub = await findHub(state, context, { table, read });
  if (hub === undefined) return undefined;
  const subscriber = join(state, hub, context);
  try {
    const news = await read(context, since);
    if (news === undefined || subscriber.isEnded) {
      endSubscriber(state, hub, subscriber);
      return news && Promise.reject(new Problem("unavailable", { retryAfterS: 1 }));
    }
    const { request } = context;
    const onEnd = () => endSubscriber(state, hub, subscriber);
    subscriber.stream = makeChangeStream(encodeNews(news), request, onEnd);
    for (const chunk of subscriber.waiting.splice(0)) subscriber.stream.send(chunk);
    return subscriber.stream.response;
  } catch (error) {
    endSubscriber(state, hub, subscriber);
    throw error;
  }
}

function checkRoom(
  { deps: { maxStreams }, hubs, isEnded }: State,
  { principal }: KeyRequestContext,
): void {
  if (isEnded) throw new Problem("unavailable", { retryAfterS: 1 });
  const ofApp = [...hubs.values()]
    .filter(({ app }) => app === principal.appId)
    .flatMap(({ subscribers }) => [...subscribers]);
  const ofKey = ofApp.filter(({ context }) => context.principal.keyId === principal.keyId);
  const owner =
    ofApp.length >= maxStreams.app ? "app" : ofKey.length >= maxStreams.key ? "key" : undefined;
  if (owner === undefined) return;
  throw new Problem("rate_limited", {
    message: `This ${owner} has ${maxStreams[owner]} open event streams, the max of a process`,
    retryAfterS: RETRY_S,
  });
}

/** The table's hub. A new hub starts at the current state. */
async function findHub(
  state: State,
  context: KeyRequestContext,
  { table, read }: { table: string; read: ReadNews },
): Promise<Hub | undefined> {
  const { appId: app } = context.principal;
  const key = `${app} ${table}`;
  const known = state.hubs.get(key);
  if (known !== undefined) return known;
  const news = await read(context, null);
  if (news === undefined) return undefined;
  // Another subscriber may have created it.
  const found = state.hubs.get(key);
  if (found !== undefined) return found;
  const definition = state.deps.catalog.find(app, table)?.definition;
  const { cursor } = news;
  const subscribers = new Set<Subscriber>();
  // A running check may not include this app.
  const isBehind = true;
  const hub: Hub = {
    ...{ app, table, read, subscribers, definition, cursor, isBehind },
    isReading: false,
  };
  state.hubs.set(key, hub);
  return hub;
}

function join(state: State, hub: Hub, context: KeyRequestContext): Subscriber {
  const openedAt = state.deps.now();
  const subscriber = { context, openedAt, stream: undefined, waiting: [], isEnded: false };
  state.hubs.set(`${hub.app} ${hub.table}`, hub);
  hub.subscribers.add(subscriber);
  void keepLooking(state);
  return subscriber;
}

function endSubscriber(state: State, hub: Hub, subscriber: Subscriber): void {
  subscriber.isEnded = true;
  hub.subscribers.delete(subscriber);
  const key = `${hub.app} ${hub.table}`;
  // A later subscriber may have a new hub by now.
  if (hub.subscribers.size === 0 && state.hubs.get(key) === hub) state.hubs.delete(key);
  subscriber.stream?.end();
}

function endAll(state: State, hub: Hub): void {
  for (const subscriber of [...hub.subscribers]) endSubscriber(state, hub, subscriber);
}

/** Repeats the check while there are subscribers. */
async function keepLooking(state: State): Promise<void> {
  if (state.isLooking) return;
  state.isLooking = true;
  state.seen = undefined;
  while (state.hubs.size > 0) {
    await Bun.sleep(LOOK_INTERVAL_MS);
    try {
      await look(state);
    } catch (error) {
      // While the database is unavailable, every request reports it; the next check starts at the same cursor.
      if (!isOutage(error)) noteFault(state.deps.log, "the check for changes")(error);
    }
    keepOpen(state);
  }
  state.isLooking = false;
}

/** A key and its subscribers. */
type Presented = { app: string; proof: Uint8Array; of: [Hub, Subscriber][] };

async function look(state: State): Promise<void> {
  const { db } = state.deps;
  const hubs = [...state.hubs.values()];
  const keys = listKeys(hubs);
  const [found] = await call(db, "look_at_changes", {
    since: state.seen ?? null,
    apps: keys.map(({ app }) => app),
    shown: keys.map(({ proof }) => Buffer.from(proof).toString("hex")),
  });
  if (found === undefined) throw new Error("The check for changes returned no row");
  state.seen = found.state;
  for (const place of found.ended)
    for (const [hub, subscriber] of keys[place]?.of ?? []) endSubscriber(state, hub, subscriber);
  const changed = new Set((found.changed as [string, string][]).map((pair) => pair.join(" ")));
  for (const hub of hubs) {
    if (changed.has(`${hub.app} ${hub.table}`) || changed.has(`${hub.app} `)) hub.isBehind = true;
    if (hub.isBehind || hasOtherColumns(state, hub)) void catchUp(state, hub);
  }
}

/** Each key once, in the order of apps. */
function listKeys(hubs: readonly Hub[]): Presented[] {
  const byKey = new Map<string, Presented>();
  for (const hub of hubs)
    for (const subscriber of hub.subscribers) {
      const { appId: app, keyId, proof } = subscriber.context.principal;
      const known = byKey.get(keyId) ?? { app, proof, of: [] };
      known.of.push([hub, subscriber]);
      byKey.set(keyId, known);
    }
  return [...byKey.values()].sort((a, b) => (a.app < b.app ? -1 : 1));
}

/** Whether a push changed the app's column set. */
function hasOtherColumns({ deps }: State, hub: Hub): boolean {
  return deps.catalog.find(hub.app, hub.table)?.definition !== hub.definition;
}

/** Reads the changes of the table, and sends them to all its subscribers. */
async function catchUp(state: State, hub: Hub): Promise<void> {
  if (hub.isReading) return;
  hub.isReading = true;
  try {
    while (hub.isBehind || hasOtherColumns(state, hub)) await readOn(state, hub);
  } catch (error) {
    hub.isBehind = true; // the next check retries
    if (!isOutage(error)) noteFault(state.deps.log, "reading changes")(error);
  }
  hub.isReading = false;
}

async function readOn(state: State, hub: Hub): Promise<void> {
  const [reader] = hub.subscribers;
  const definition = state.deps.catalog.find(hub.app, hub.table)?.definition;
  if (definition === undefined) endAll(state, hub);
  if (reader === undefined || definition === undefined) {
    hub.definition = definition;
    hub.isBehind = false;
    return;
  }
  hub.isBehind = false;
  const news = await readAs(state, hub, reader);
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
async function readAs(state: State, hub: Hub, reader: Subscriber): Promise<News | undefined> {
  try {
    const news = await hub.read(reader.context, hub.cursor);
    if (news === undefined) endAll(state, hub);
    return news;
  } catch (error) {
    hub.isBehind = true;
    const isLeaving = reader.isEnded || reader.context.request.signal.aborted;
    if (!isLeaving && !(error instanceof Problem && error.code === "unauthenticated")) throw error;
    endSubscriber(state, hub, reader);
    return undefined;
  }
}

/** Sends heartbeats, and ends streams at their max age. */
function keepOpen(state: State): void {
  const now = state.deps.now();
  if (now - state.beatAt < HEARTBEAT_MS) return;
  state.beatAt = now;
  for (const hub of state.hubs.values())
    for (const subscriber of [...hub.subscribers])
      if (now - subscriber.openedAt > MAX_AGE_MS) endSubscriber(state, hub, subscriber);
      else subscriber.stream?.send(HEARTBEAT);
}
