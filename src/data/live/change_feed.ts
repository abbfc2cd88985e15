/**
 * Live updates of one process. Every 250 ms the feed queries the database for the tables of subscribed apps that
 * changed, and reads the changes of each of these tables once for all subscribers. Without subscribers it does
 * nothing.
 *
 * No change is missed. A subscriber joins its table before its first read, so every later read of the table
 * reaches the subscriber. What the others are sent before its stream is open is read again. An event is the state of a row, not a
 * step, so duplicates are harmless.
 *
 * @see ../db/code/apps/live.sql
 * @module
 */

import { call, type Database } from "../../db/mod.ts";
import {
  type CountStream,
  EVENT_STREAM_HEADERS,
  type KeyRequestContext,
  openEventStream,
  type StreamMemory,
  streamOwnersOf,
} from "../../http/mod.ts";
import { type Log, logError } from "../../observe.ts";
import { isOutage, Problem } from "../../problem.ts";
import { STREAM_LIFE_S } from "../../std/limits.ts";
import type { Catalog } from "../../tables/catalog/mod.ts";
import {
  catchUp,
  encodeNews,
  endAll,
  endSubscriber,
  type Hub,
  type Hubs,
  isComplete,
  joinHub,
  listWatched,
  type ReadNews,
  type Subscriber,
  settle,
} from "./change_hub.ts";
import { makeCursors } from "./cursors.ts";

export type ChangeFeed = {
  /**
   * A stream of the table's changes; `undefined` if the app is not live.
   *
   * @throws {Problem} rate_limited — the app, the key or the person has too many streams; unavailable — the process stops
   */
  readonly open: (
    context: KeyRequestContext,
    options: { table: string; since: string | null; read: ReadNews },
  ) => Promise<Response | undefined>;
  /** Ends all streams and rejects new streams. */
  readonly end: () => void;
};

type ChangeFeedDeps = {
  db: Database;
  catalog: Pick<Catalog, "find" | "findFor" | "learnedAt">;
  log: Log;
  /** Milliseconds of a monotonic clock. */
  now: () => number;
  /** @throws {Problem} unavailable — the service has stopped serving rows */
  checkServing: () => Promise<void>;
  countStream: CountStream;
  streamMemory: StreamMemory;
};

/** A stream whose first read is always too old, because the table changes all the time, starts with a reset. */
const MAX_FIRST_READS = 5;
/** A position that PostgreSQL cannot read: leads to a reset. */
const UNKNOWN = "";
const CHECK_INTERVAL_MS = 250;
/** `Bun.serve` in an app, and some platforms, close a connection that is silent for 10 seconds. */
const HEARTBEAT_MS = 5_000;
const MAX_AGE_MS = STREAM_LIFE_S * 1000;

type State = {
  readonly deps: ChangeFeedDeps;
  readonly hubs: Hubs;
  /** The position of the last check. */
  seen: string | undefined;
  beatAt: number;
  isLooking: boolean;
  /** Whether the last check failed for a reason other than an outage. */
  isFailing: boolean;
  isEnded: boolean;
};

export function makeChangeFeed(deps: ChangeFeedDeps): ChangeFeed {
  const { db, catalog, log } = deps;
  const cursors = makeCursors({ db });
  const state: State = {
    deps,
    hubs: { catalog, cursors, log, byTable: new Map() },
    seen: undefined,
    beatAt: 0,
    isLooking: false,
    isFailing: false,
    isEnded: false,
  };
  return {
    open: (context, options) => open(state, context, options),
    end: () => {
      state.isEnded = true;
      for (const hub of state.hubs.byTable.values()) endAll(state.hubs, hub);
    },
  };
}

async function open(
  state: State,
  context: KeyRequestContext,
  { table, since, read }: { table: string; since: string | null; read: ReadNews },
): Promise<Response | undefined> {
  const { hubs, deps } = state;
  const { appId: app } = context.principal;
  if (state.isEnded) throw new Problem("unavailable", { retryAfterS: 1 });
  const subscriber: Subscriber = {
    context,
    openedAt: deps.now(),
    release: deps.countStream(streamOwnersOf(context.principal)),
    hub: undefined,
    stream: undefined,
    missed: undefined,
    first: undefined,
    isEnded: false,
  };
  const end = () => endSubscriber(hubs, subscriber);
  const readServed: ReadNews = async (reader, after) => {
    const news = await read(reader, after);
    // The service can have stopped serving during the read.
    await deps.checkServing();
    return news;
  };
  try {
    const hub = await joinHub(hubs, subscriber, { table, read: readServed });
    void keepLooking(state);
    const owner = { app, table };
    if (hub !== undefined) await settle(hubs, owner);
    const known = since === null ? undefined : await hubs.cursors.open(owner, since);
    const after = since === null ? null : (known ?? UNKNOWN);
    const readFirst = async () => {
      const news = hub && (await readServed(context, after));
      return news && { news, cursor: await hubs.cursors.seal(owner, news.position) };
    };
    let first = await readFirst();
    for (let reads = 1; reads < MAX_FIRST_READS; reads++) {
      if (first === undefined || isComplete(first.news, subscriber)) break;
      first = await readFirst();
    }
    if (first === undefined) {
      end();
      return undefined;
    }
    const { news, cursor } = first;
    if (subscriber.isEnded || state.isEnded) throw new Problem("unavailable", { retryAfterS: 1 });
    const stream = openEventStream(deps.streamMemory, {
      signal: context.request.signal,
      onEnd: end,
    });
    subscriber.stream = stream;
    subscriber.first = news.position;
    const sent = isComplete(news, subscriber)
      ? news
      : { ...news, kind: "reset" as const, events: "[]" };
    stream.send(encodeNews(sent, cursor));
    return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
  } catch (error) {
    end();
    throw error;
  }
}

/** Repeats the check while there are subscribers. Logs its first failure in a row. */
async function keepLooking(state: State): Promise<void> {
  if (state.isLooking) return;
  state.isLooking = true;
  state.seen = undefined;
  while (state.hubs.byTable.size > 0) {
    await Bun.sleep(CHECK_INTERVAL_MS);
    try {
      await poll(state);
      state.isFailing = false;
    } catch (error) {
      // The next check starts at the same cursor.
      const isUnexpected = !isOutage(error);
      if (isUnexpected && !state.isFailing)
        logError(state.deps.log, "the check for changes")(error);
      state.isFailing = isUnexpected;
    }
    keepOpen(state);
  }
  state.isLooking = false;
}

type Presented = { app: string; proof: Uint8Array; subscribers: Subscriber[] };

async function poll(state: State): Promise<void> {
  const { deps, hubs } = state;
  await deps.checkServing();
  const all = [...hubs.byTable.values()];
  const keys = listKeys(all);
  const [found] = await call(deps.db, "poll_changes", {
    since: state.seen ?? null,
    apps: keys.map(({ app }) => app),
    presented_proofs: keys.map(({ proof }) => Buffer.from(proof).toString("hex")),
  });
  if (found === undefined) throw new Error("The check for changes returned no row");
  state.seen = found.state;
  for (const index of found.ended)
    for (const subscriber of keys[index]?.subscribers ?? []) endSubscriber(hubs, subscriber);
  const changed = new Set((found.changed as [string, string][]).map((pair) => pair.join(" ")));
  for (const hub of all) {
    if (["", ...listWatched(hub)].some((table) => changed.has(`${hub.app} ${table}`)))
      hub.isBehind = true;
    void catchUp(hubs, hub);
  }
}

/** Each proof of an app once, in the order of apps. */
function listKeys(hubs: readonly Hub[]): Presented[] {
  const byProof = new Map<string, Presented>();
  for (const hub of hubs)
    for (const subscriber of hub.subscribers) {
      const { appId: app, proof } = subscriber.context.principal;
      byProof
        .getOrInsert(`${app} ${proof.toHex()}`, { app, proof, subscribers: [] })
        .subscribers.push(subscriber);
    }
  return [...byProof.values()].sort((a, b) => (a.app < b.app ? -1 : 1));
}

/** Sends heartbeats, and ends streams at their max age. */
function keepOpen(state: State): void {
  const { deps, hubs } = state;
  const now = deps.now();
  if (now - state.beatAt < HEARTBEAT_MS) return;
  state.beatAt = now;
  for (const hub of hubs.byTable.values())
    for (const subscriber of [...hub.subscribers])
      if (now - subscriber.openedAt > MAX_AGE_MS) endSubscriber(hubs, subscriber);
      else subscriber.stream?.beat();
}
