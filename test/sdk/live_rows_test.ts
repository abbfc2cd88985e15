/**
 * The live recipe of the React page on a table of 15,000 rows: a server relays the rows of each browser's query, and sends only what
 * changed in them. Bytes are counted, not time.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, type Row, t } from "../../src/schema/mod.ts";
import { createDataClient, type QueryOptions } from "../../src/sdk/data.ts";
import { followRows, type LiveError, relayRows } from "../../src/sdk/live.ts";
import { applyPatch, type Patch, type RowPage, toPatches } from "../../src/sdk/patches.ts";
import { casesBy } from "../support/cases.ts";
import { eventually } from "../support/eventually.ts";
import { findFreePort } from "../support/free_port.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const ROWS = 15_000;
/** An event of the service for one changed row has fewer bytes than two rows. */
const MAX_EVENT_BYTES = 600;

const schema = defineSchema({
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "done"]).required().default("open"),
      rank: t.integer().required(),
    })
    .index("rank"),
});
type Todo = Row<typeof schema, "todos">;
type Query = QueryOptions<Todo>;

/** The queries of the browsers. */
const QUERIES = {
  last: { where: { status: "open" }, orderBy: [{ rank: "desc" }], limit: 100 },
  first: { orderBy: [{ rank: "asc" }], limit: 20 },
  few: { where: { title: { like: "special*" } }, orderBy: [{ rank: "asc" }], limit: 1000 },
} satisfies Record<string, Query>;
type Name = keyof typeof QUERIES;

const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const app = await service.makeApp(schema);
await setAppSwitch(service.service, app.slug, ["live", true]);
const db = createDataClient({ baseUrl: service.url, apiKey: app.key, schema });
const rows = await db.todos.createAll(
  Array.from({ length: ROWS }, (_, index) => ({
    title: `${index % 5000 === 7 ? "special" : "todo"} ${index}`,
    rank: index * 10,
  })),
);

/** The app's server. Counts the bytes that it sends, without the comments that keep a connection open. */
function serveApp(port = 0) {
  const sent = new Map<string, number>();
  const watching = new Set<AbortSignal>();
  const server = Bun.serve({
    port,
    idleTimeout: 0,
    fetch: (request) => {
      const name = new URL(request.url).pathname.slice(1);
      if (name === "forbidden") return new Response(null, { status: 401 });
      const response = relayRows(
        async function* (signal) {
          watching.add(signal);
          try {
            yield* db.todos.watch({ ...QUERIES[name as Name], signal });
          } finally {
            watching.delete(signal);
          }
        },
        { signal: request.signal },
      );
      const counter = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          if (chunk.byteLength > 4) sent.set(name, (sent.get(name) ?? 0) + chunk.byteLength);
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body?.pipeThrough(counter), response);
    },
  });
  return { server, sent, watching, url: server.url.origin };
}

type Browser = {
  page: RowPage<Todo> | undefined;
  errors: LiveError[];
  events: number;
  stop: AbortController;
};

function openBrowser(url: string, name: string): Browser {
  const browser: Browser = { page: undefined, errors: [], events: 0, stop: new AbortController() };
  followRows<RowPage<Todo>>(`${url}/${name}`, {
    signal: browser.stop.signal,
    onPage: (page) => {
      browser.page = page;
      browser.events++;
    },
    onError: (error) => browser.errors.push(error),
  });
  return browser;
}

async function untilEqual(browser: Browser, name: Name): Promise<void> {
  const { limit } = QUERIES[name];
  const expected: Todo[] = [];
  for await (const row of db.todos.all(QUERIES[name])) if (expected.push(row) === limit) break;
  await eventually(() => JSON.stringify(browser.page?.rows) === JSON.stringify(expected), {
    describe: () => `${name}: ${browser.page?.rows.length} rows`,
  });
}

const names = Object.keys(QUERIES) as Name[];
const at = (index: number): Todo => {
  const row = rows.at(index);
  if (row === undefined) throw new Error(`No row ${index}`);
  return row;
};

describe("three browsers with different queries over 15,000 rows", () => {
  let app: ReturnType<typeof serveApp>;
  let browsers: Record<Name, Browser>;
  beforeAll(async () => {
    app = serveApp();
    browsers = Object.fromEntries(
      names.map((name) => [name, openBrowser(app.url, name)]),
    ) as Record<Name, Browser>;
    for (const name of names) await untilEqual(browsers[name], name);
  });
  afterAll(async () => {
    for (const { stop } of Object.values(browsers)) stop.abort();
    await eventually(() => app.watching.size === 0);
    await app.server.stop(true);
  });

  test("begin with the rows of their query", () => {
    expect(browsers.last.page?.rows.map(({ id }) => id)).toEqual(
      rows
        .slice(-100)
        .map(({ id }) => id)
        .toReversed(),
    );
    expect(browsers.few.page?.rows.length).toBe(3);
  });

  test.each(
    casesBy<() => Promise<unknown>>({
      last: {
        "a changed row": () => db.todos.update(at(-1).id, { title: "todo changed" }),
        "a row that leaves, and the next row that enters": () =>
          db.todos.update(at(-2).id, { status: "done" }),
        "a row that enters and pushes out the last row": () =>
          db.todos.update(at(-2).id, { status: "open" }),
      },
      "last, few": {
        "a new row": () => db.todos.create({ title: "special new", rank: 10 * ROWS }),
      },
      first: {
        "a row that changes its place": () => db.todos.update(at(3).id, { rank: -5 }),
        "a deleted row": () => db.todos.delete(at(0).id),
      },
      "first, last": {
        "a row that moves from one query to the other": () =>
          db.todos.update(at(1).id, { rank: 10 * ROWS + 1 }),
      },
      "": {
        "a row that no browser shows": () => db.todos.update(at(7000).id, { title: "todo unseen" }),
      },
    }),
  )("are sent only $name", async ({ value: change, expected }) => {
    const changed = expected.split(", ");
    const before = new Map(app.sent);
    await change();
    // A later change of all queries arrives after the one in question.
    for (const name of names) await untilEqual(browsers[name], name);
    if (expected === "") {
      await db.todos.update(at(-1).id, { title: `todo ${crypto.randomUUID()}` });
      await untilEqual(browsers.last, "last");
      before.set("last", app.sent.get("last") ?? 0);
    }
    for (const name of names) {
      const bytes = (app.sent.get(name) ?? 0) - (before.get(name) ?? 0);
      if (changed.includes(name)) expect(bytes).toBeGreaterThan(0);
      expect(bytes, name).toBeLessThan(changed.includes(name) ? MAX_EVENT_BYTES : 1);
    }
  });

  test("are sent less than a page for 1,001 changed rows, of which they show a few", async () => {
    const before = app.sent.get("first") ?? 0;
    const ranked = await db.todos.list({ orderBy: [{ rank: "asc" }], limit: 2 });
    for (const { id } of ranked.rows) await db.todos.update(id, { title: "todo again" });
    // More than 1,000 changes are one reset of the stream.
    await db.todos.createAll(Array.from({ length: 1001 }, () => ({ title: "new", rank: 70_005 })));
    for (const name of names) await untilEqual(browsers[name], name);
    expect((app.sent.get("first") ?? 0) - before).toBeLessThan(2 * MAX_EVENT_BYTES);
  });
});

test("a browser continues after its server has stopped, and ends its stream when it leaves", async () => {
  const port = await findFreePort();
  const app = serveApp(port);
  const browser = openBrowser(app.url, "last");
  await untilEqual(browser, "last");
  await app.server.stop(true);
  await eventually(() => browser.errors.length > 0);
  expect(browser.errors[0]?.status).toBeUndefined();
  await db.todos.update(at(-3).id, { title: "todo without a server" });
  const again = serveApp(port);
  await untilEqual(browser, "last");
  expect(again.watching.size).toBe(1);
  browser.stop.abort();
  await eventually(() => again.watching.size === 0 && app.watching.size === 0);
  const { events } = browser;
  await db.todos.update(at(-3).id, { title: "todo without a browser" });
  expect(browser.events).toBe(events);
  await again.server.stop(true);
});

test("a rejected browser gets the status, and does not ask again", async () => {
  const app = serveApp();
  const browser = openBrowser(app.url, "forbidden");
  await eventually(() => browser.errors.length > 0);
  expect(browser.errors.map(({ status }) => status)).toEqual([401]);
  browser.stop.abort();
  await app.server.stop(true);
});

test("a slow browser gets many changes as one event", async () => {
  const response = relayRows((signal) => db.todos.watch({ ...QUERIES.last, signal }));
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let page: RowPage<Todo> | undefined;
  let events = 0;
  const read = async () => {
    const { value = "" } = (await reader?.read()) ?? {};
    if (!value.startsWith("data: ")) return;
    page = applyPatch(page, JSON.parse(value.slice("data: ".length)) as Patch<Todo>);
    events++;
  };
  while (events === 0) await read();
  for (let number = 0; number < 30; number++)
    await db.todos.update(at(-(number % 5) - 5).id, { title: `todo slow ${number}` });
  const { rows: expected } = await db.todos.list(QUERIES.last);
  while (JSON.stringify(page?.rows) !== JSON.stringify(expected)) await read();
  expect(events).toBeLessThan(10);
  await reader?.cancel();
});

test("without conditions in the service, a watch of a query says that they are missing", async () => {
  await using plain = await openTestService({ service: { previews: [] } });
  const { key } = await plain.makeApp(schema);
  const client = createDataClient({ baseUrl: plain.url, apiKey: key, schema });
  const error = await client.todos
    .watch(QUERIES.last)
    .next()
    .catch((error: unknown) => error);
  expect(error).toMatchObject({ name: "DataError", code: "unsupported_query" });
  expect((error as Error).message).toStartWith("todos.watch: ");
});

describe("patches", () => {
  const toRows = (values: readonly (readonly [number, number])[]) =>
    values.map(([id, value]) => ({ id: `${id}`, value }));
  const page = fc.record({
    rows: fc.uniqueArray(fc.tuple(fc.nat(12), fc.nat(2)), { selector: ([id]) => id }).map(toRows),
    hasMore: fc.boolean(),
    next: fc.option(fc.string()),
  });

  test("lead from any page to any other page", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(page, { minLength: 1 }), async (pages) => {
        const seen: unknown[] = [];
        let now: (typeof pages)[number] | undefined;
        const source = async function* () {
          yield* pages;
        };
        for await (const patch of toPatches<(typeof pages)[number]["rows"][number]>(source())) {
          now = applyPatch(now, patch);
          seen.push(now);
        }
        const different = pages.filter(
          (value, index) => index === 0 || !Bun.deepEquals(value, pages[index - 1]),
        );
        expect(seen).toEqual(different);
      }),
    );
  });

  test("contain only the moved row, if the selection lacks the column of the order", async () => {
    const ids = Array.from({ length: 500 }, (_, index) => ({ id: `${index}` }));
    const [first = { id: "" }, ...others] = ids;
    const source = async function* () {
      yield { rows: ids };
      yield { rows: [...others, first] };
      yield { rows: ids };
    };
    const patches = await Array.fromAsync(toPatches(source()));
    expect(patches.slice(1)).toEqual([
      { put: [{ at: 499, row: first }], removed: [], page: {} },
      { put: [{ at: 0, row: first }], removed: [], page: {} },
    ]);
  });

  test("need the ids of rows", async () => {
    const source = async function* () {
      yield { rows: [{ title: "" }] as never };
    };
    await expect(toPatches(source()).next()).rejects.toThrow('select must contain "id"');
  });
});
