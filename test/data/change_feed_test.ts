/** The first event of a stream, while other events of its table pass by. */
import { expect, test } from "bun:test";
import { makeChangeFeed } from "../../src/data/live/change_feed.ts";
import type { News } from "../../src/data/live/change_hub.ts";
import { makeCursors } from "../../src/data/live/cursors.ts";
import { call } from "../../src/db/mod.ts";
import { makeStreamMemory } from "../../src/http/mod.ts";
import { makePrincipal } from "../../src/principal.ts";
import { toProof } from "../../src/records/apps/key_text.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeCatalog } from "../../src/tables/catalog/catalog.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const KB = 1024;
const table = "todos";

const service = await share(openTestService({ service: { previews: ["live"] } }));
const app = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
await setAppSwitch(service.service, app.slug, ["live", true]);

function toContext({ id, key }: TestApp) {
  const proof = toProof(key.slice(key.indexOf(".") + 1));
  const principal = makePrincipal({
    ...{ appId: id, keyId: crypto.randomUUID(), scopes: ["data:read"], proof },
  });
  const request = new Request(service.url);
  return {
    principal,
    request,
    requestId: "",
    params: {},
    query: "",
    address: "",
    meter: { dbMs: 0 },
  };
}

/**
 * Opens a stream whose first read ends only after the table's subscribers were sent an event of 900 KB. Returns the stream's
 * first bytes, and the bytes held before the stream was open.
 */
async function openLate(first: News["kind"], oldReads = 0) {
  // Apart, the second process is the data service.
  const { db } = service.processes[1] ?? service.service;
  const [found] = await call(db, "poll_changes", { since: null, apps: [], presented_proofs: [] });
  const [feedName = "", snapshot = ""] = (found?.state ?? "").split(".");
  const next = Number(snapshot.split(":")[1]);
  const at = (past: number) => `${feedName}.${next}:${next + past}:.set`;
  const catalog = makeCatalog({ db, refresh: async () => undefined, age: () => 0 });
  await catalog.follow(1);
  const streamMemory = makeStreamMemory();
  const feed = makeChangeFeed({
    ...{ db, streamMemory, log: () => undefined, now: () => performance.now() },
    catalog: {
      find: catalog.find,
      findFor: catalog.findFor,
      learnedAt: () => Number.NEGATIVE_INFINITY,
    },
    checkServing: async () => undefined,
    countStream: () => () => undefined,
  });
  const passed = Promise.withResolvers<void>();
  let held = Number.NaN;
  const events = JSON.stringify([{ put: { title: "x".repeat(900 * KB) } }]);
  const read = async (_: unknown, since: string | null): Promise<News> => {
    if (since === at(0)) {
      passed.resolve();
      return { position: at(2), kind: "changes", events };
    }
    if (since === at(2)) return { position: at(2), kind: "changes", events: "[]" };
    // The table's own first read; then the stream's.
    if (since === null && !isJoined) {
      isJoined = true;
      return { position: at(0), kind: "ready", events: "[]" };
    }
    await passed.promise;
    await Bun.sleep(50); // the event passes by
    held = streamMemory.bytes();
    reads++;
    return { position: at(reads > oldReads ? 3 : 1), kind: first, events: "[]" };
  };
  let isJoined = false;
  let reads = 0;
  const since =
    first === "ready" ? null : await makeCursors({ db }).seal({ app: app.id, table }, at(-1));
  const response = await feed.open(toContext(app), { table, since, read });
  const reader = response?.body?.getReader();
  const text = new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  feed.end();
  return { kind: /event: (\w+)/.exec(text)?.[1], held, reads };
}

test.each([
  { first: "changes", oldReads: 0, sent: "changes", reads: 1 },
  { first: "changes", oldReads: 2, sent: "changes", reads: 3 },
  { first: "changes", oldReads: Number.POSITIVE_INFINITY, sent: "reset", reads: 5 },
  { first: "ready", oldReads: 1, sent: "ready", reads: 1 },
] as const)(
  "a stream whose first $oldReads reads of kind $first lack an event reads $reads times, sends $sent, and holds no event until then",
  async ({ first, oldReads, sent, reads }) => {
    expect(await openLate(first, oldReads)).toEqual({ kind: sent, held: 0, reads });
  },
);
