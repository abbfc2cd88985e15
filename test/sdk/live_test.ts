/** Watching a page of a live app: by the event stream, and by polling without a stream. */
import { expect, test } from "bun:test";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient, relay } from "../../src/sdk/data.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({ todos: { title: t.string().required() } });
/** No poll happens during a test. */
const NEVER_MS = 3_600_000;

const service = await share(openTestService({ service: { previews: ["live"] } }));
const app = await service.makeApp(schema);
await setAppSwitch(service.service, app.slug, ["live", true]);

const connect = () => createDataClient({ baseUrl: service.url, apiKey: app.key, schema });

/** Reads pages until a page has this number of rows. */
async function untilCount(
  pages: AsyncGenerator<{ rows: unknown[] }, void, undefined>,
  count: number,
): Promise<void> {
  for (;;) {
    const { value } = await pages.next();
    if (value?.rows.length === count) return;
  }
}

test("a watch receives a change without polling, and watchers share one stream", async () => {
  const db = connect();
  const watches = [1, 2].map(() => db.todos.watch({ everyMs: NEVER_MS }));
  for (const pages of watches) await untilCount(pages, 0);
  const { id } = await db.todos.create({ title: "one" });
  await Promise.all(watches.map((pages) => untilCount(pages, 1)));
  await db.todos.delete(id);
  await Promise.all(watches.map((pages) => untilCount(pages, 0)));
  for (const pages of watches) await pages.return();
});

test("a watch polls if the app has no live updates", async () => {
  const plain = await service.makeApp(schema);
  const db = createDataClient({ baseUrl: service.url, apiKey: plain.key, schema });
  const pages = db.todos.watch({ everyMs: 5 });
  await untilCount(pages, 0);
  await db.todos.create({ title: "one" });
  await untilCount(pages, 1);
  await pages.return();
});

test("a watch continues by polling when live updates end", async () => {
  const ending = await service.makeApp(schema);
  await setAppSwitch(service.service, ending.slug, ["live", true]);
  const db = createDataClient({ baseUrl: service.url, apiKey: ending.key, schema });
  const pages = db.todos.watch({ everyMs: 5 });
  await untilCount(pages, 0);
  await setAppSwitch(service.service, ending.slug, ["live", false]);
  await db.todos.create({ title: "one" });
  await untilCount(pages, 1);
  await pages.return();
});

test("a relay passes pages on, and ends the watch when the browser leaves", async () => {
  const db = connect();
  let hasEnded: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => {
    hasEnded = resolve;
  });
  const response = relay(async function* (signal) {
    try {
      yield* db.todos.watch({ everyMs: NEVER_MS, signal });
    } finally {
      hasEnded?.();
    }
  });
  const reader = response.body?.getReader();
  await reader?.read(); // the comment that opens the stream
  const first = new TextDecoder().decode((await reader?.read())?.value);
  expect(JSON.parse(first.slice("data: ".length))).toMatchObject({ rows: [], hasMore: false });
  await reader?.cancel();
  await ended;
});

test("a relay opens its stream before the first value, and forbids proxies to hold it back", async () => {
  const server = Bun.serve({
    port: 0,
    fetch: () =>
      relay(async function* () {
        yield await new Promise<never>(() => undefined);
      }),
  });
  try {
    const { headers, body } = await fetch(server.url);
    expect(headers.get("content-type")).toBe("text/event-stream");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("cache-control")).toBe("no-store, no-transform");
    const reader = body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(": \n\n");
    await reader?.cancel();
  } finally {
    await server.stop(true);
  }
});

test("a relay waits for a slow browser, and ends a waiting watch when the browser leaves", async () => {
  let count = 0;
  let hasEnded = false;
  const response = relay(async function* () {
    try {
      while (count < 1000) yield count++;
    } finally {
      hasEnded = true;
    }
  });
  const reader = response.body?.getReader();
  await reader?.read();
  await Bun.sleep(0);
  expect(count).toBeLessThan(5);
  await reader?.cancel();
  expect(hasEnded).toBe(true);
});
