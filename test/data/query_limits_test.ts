/** Where the limits of queries apply: the most rows of a count, and time. Each page is full. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { matches } from "../../src/sdk/matches.ts";
import { eventually } from "../support/eventually.ts";
import { whileLocked } from "../support/held_lock.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  notes: {
    body: t.string(),
    label: t.string(),
    done: t.boolean().required(),
    position: t.number().required(),
  },
});
const NOTES = "/v1/data/db/notes";
const COUNTED = { headers: { prefer: "count=exact" } };

type Note = { id: string; body: string; position: number };
type Found = { rows: Note[]; hasMore: boolean; next: string | null; count?: number | null };
type Notes = readonly object[];

async function makeNotes(service: TestService, notes: Notes): Promise<TestApp> {
  const app = await service.makeApp(schema);
  for (let start = 0; start < notes.length; start += 9) {
    const json = notes.slice(start, start + 9);
    const { status } = await service.call(app, NOTES, { method: "POST", json });
    expect(status).toBe(201);
  }
  return app;
}

const COUNTED_ROWS = 40;

describe("around the most rows of a count", () => {
  let service: TestService;
  const apps = new Map<number, TestApp>();
  beforeAll(async () => {
    service = await openTestService({
      service: { previews: ["filters"], maxCounted: COUNTED_ROWS },
    });
    for (const rows of [COUNTED_ROWS - 1, COUNTED_ROWS, COUNTED_ROWS + 1]) {
      const notes = Array.from({ length: rows }, (_, position) => ({
        ...{ position, done: position % 2 === 0, body: `Note ${position}` },
      }));
      apps.set(rows, await makeNotes(service, notes));
    }
  });
  afterAll(() => service.close());

  test.each([
    { query: "done=eq.true&limit=1", counts: [20, 20, 21] },
    { query: "limit=1", counts: [39, 40, null] },
    { query: "order=id.desc&limit=1", counts: [39, 40, null] },
    { query: "body=ilike.*note*&order=position&offset=3&limit=1", counts: [39, 40, null] },
  ])("?$query counts $counts rows", async ({ query, counts }) => {
    const found: unknown[] = [];
    for (const app of apps.values())
      found.push(((await service.call(app, `${NOTES}?${query}`, COUNTED)).json as Found).count);
    expect(found).toEqual([...counts]);
  });
});

async function readAll(service: TestService, app: TestApp, query: string) {
  const notes: Note[] = [];
  const pages: number[] = [];
  for (let after = ""; pages.length < 100; ) {
    const { json, text, status } = await service.call(app, `${NOTES}?${query}${after}`);
    if (status !== 200) throw new Error(text);
    const { rows, next } = json as Found;
    notes.push(...rows);
    pages.push(rows.length);
    if (next === null) return { notes, pages };
    after = `&after=${next}`;
  }
  throw new Error("The list does not end");
}

test("of two conditions on one side of a column, the tighter one counts", async () => {
  await using service = await openTestService({ service: { previews: ["filters"] } });
  const things = t
    .model({
      name: t.string().required(),
      n: t.integer().required(),
      x: t.number().required(),
      d: t.decimal().required(),
      at: t.timestamp().required(),
    })
    .index("name")
    .index("n")
    .index("x")
    .index("d")
    .index("at");
  const app = await service.makeApp(defineSchema({ things }));
  const json = Array.from({ length: 20 }, (_, n) => ({
    ...{ name: `n${n + 10}`, n, x: n + 0.5, d: `${n}.5` },
    at: new Date(Date.UTC(2026, 0, n + 1)).toISOString(),
  }));
  const path = "/v1/data/db/things";
  const made = await service.call(app, path, { method: "POST", json });
  const ids = (made.json as { rows: { id: string }[] }).rows.map(({ id }) => id);
  const found: unknown[] = [];
  const queries = [
    "name=like.n*&name=gt.n26&order=name",
    "name=gt.n11&name=gte.n27&order=name",
    "name=gt.n26&name=like.n2*&order=name",
    "n=gt.2&n=gte.17&order=n",
    "x=gt.2&x=gt.16.5&order=x",
    "d=gt.2&d=gt.16.5&order=d",
    "at=gte.2026-01-03T00:00:00Z&at=gte.2026-01-18T00:00:00Z&order=at",
    `id=gt.${ids[3]}&id=gt.${ids[16]}`,
    "n=lt.18&n=lt.9&n=lt.3&order=n.desc",
  ];
  for (const query of queries) {
    const page = await service.call(app, `${path}?${query}&limit=5`);
    const { rows, next } = page.json as { rows?: { n: number }[]; next?: string | null };
    found.push([query, rows?.map(({ n }) => n), next]);
  }
  const expected = queries.map((query) => [
    query,
    query.includes("lt.") ? [2, 1, 0] : [17, 18, 19],
    null,
  ]);
  expect(found).toEqual(expected);
});

const TEXT_BYTES = 10_000;

describe("a page of few matching rows among long texts", () => {
  let service: TestService;
  let app: TestApp;
  beforeAll(async () => {
    service = await openTestService({ service: { previews: ["filters"] } });
    const notes = Array.from({ length: 60 }, (_, position) => ({
      // A text that needs 1 % of its length as stored.
      body: "a".repeat(TEXT_BYTES - 1) + (position % 7 === 0 ? "b" : "a"),
      ...{ position, done: position % 2 === 0, label: `${position % 10}` },
    }));
    app = await makeNotes(service, notes);
  });
  afterAll(() => service.close());

  const both = (pattern: string) => ({ like: pattern });
  const SIX = "*a*a*a*a*b*";
  test.each<{ query: string; where: object; pages: number[] }>([
    { query: "body=like.b*", where: { body: both("b*") }, pages: [0] },
    { query: "body=eq.b", where: { body: "b" }, pages: [0] },
    { query: "body=gt.aab", where: { body: { gt: "aab" } }, pages: [0] },
    { query: "body=like.*b*", where: { body: both("*b*") }, pages: [4, 4, 1] },
    { query: `body=ilike.${SIX}`, where: { body: { ilike: SIX } }, pages: [4, 4, 1] },
    {
      query: `or=(${Array(30).fill("body.ilike.*ab*").join()})`,
      where: { body: both("*ab*") },
      pages: [4, 4, 1],
    },
    {
      query: `done=eq.true&or=(body.ilike.${SIX},position.eq.8)`,
      where: { done: true, or: [{ body: both(SIX) }, { position: 8 }] },
      pages: [4, 2],
    },
    {
      query: "body=ilike.*b*&label=ilike.*1*",
      where: { body: both("*b*"), label: both("*1*") },
      pages: [1],
    },
  ])("has all that $query finds, up to its limit", async ({ query, where, pages }) => {
    const { notes: all } = await readAll(service, app, "order=id");
    const found = await readAll(service, app, `${query}&limit=4`);
    const wanted = all.filter((note) => matches<object>(note, where));
    expect(found.notes.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
    expect(found.pages).toEqual(pages);
  });

  test.each([
    { query: "body=ilike.*b*&order=position.desc&offset=5", found: 4 },
    { query: "body=ilike.*b*&order=position&offset=9", found: 0 },
  ])("after the skipped rows of $query", async ({ query, found }) => {
    const { json } = await service.call(app, `${NOTES}?${query}`, COUNTED);
    const { rows, next, count } = json as Found;
    expect([rows.length, next, count]).toEqual([found, null, 9]);
  });
});

testUnlessCitus("a cluster has no query functions")(
  "a query gets 504 at its own time limit, with advice",
  async () => {
    await using service = await openTestService({
      service: { previews: ["filters"], queryTimeoutS: 0.3 },
    });
    const app = await makeNotes(service, [{ done: true, position: 1 }]);
    const path = `${NOTES}?body=ilike.*x*&label=gt.a&done=eq.true`;
    const { status, text } = await whileLocked(service.database.adminUrl, "notes", () =>
      service.call(app, path),
    );
    const { error, message } = JSON.parse(text);
    expect([status, error]).toEqual([504, "timeout"]);
    expectSentences(message, {
      names: ["0.3 seconds", '.index("done")', "narrow the list"],
      hides: ["body", "label"],
    });
    // The first call on a new connection compiles the function.
    await eventually(async () => (await service.call(app, path)).status === 200);
  },
);

testUnlessCitus("a cluster has no query functions")(
  "what no index serves gets 504 at a shorter limit, with the index to declare",
  async () => {
    await using service = await openTestService({
      service: {
        ...{ previews: ["filters"], queryTimeoutS: 0.2 },
        unindexedLimits: { timeoutMs: 100, msAMinute: 60_000 },
      },
    });
    const app = await service.makeApp(
      defineSchema({
        projects: { name: t.string() },
        todos: {
          title: t.string().required(),
          done: t.boolean(),
          due_at: t.timestamp(),
          position: t.number(),
          meta: t.json(),
          project: t.ref("projects"),
        },
      }),
    );
    const answers = await whileLocked(service.database.adminUrl, "todos", async () => {
      const found: [string, number, string, string][] = [];
      for (const [request] of UNINDEXED) {
        const [method = "", query = ""] = request.split(" ");
        const json = method === "PATCH" ? { json: { done: true } } : {};
        const path = `/v1/data/db/todos${query}`;
        const { status, text } = await service.call(app, path, { method, ...json });
        const { error, message } = JSON.parse(text);
        found.push([request, status, error, message]);
      }
      return found;
    });
    expect(answers.map(([request, status, error]) => [request, status, error])).toEqual(
      UNINDEXED.map(([request]) => [request, 504, "timeout"]),
    );
    for (const [at, [, names]] of UNINDEXED.entries())
      expectSentences(answers[at]?.[3] ?? "", {
        names: ["rows of todos", ...names.split(", ")],
      });
  },
);

testUnlessCitus("a cluster has no query functions")(
  "an app that has used its time for what no index serves waits, and other apps do not",
  async () => {
    await using service = await openTestService({
      service: { previews: ["filters"], unindexedLimits: { timeoutMs: 100, msAMinute: 100 } },
    });
    const [app, other] = [await makeNotes(service, []), await makeNotes(service, [])];
    const ask = async (by: TestApp, query: string) => {
      const { status, headers, text } = await service.call(by, `${NOTES}?${query}`);
      return { status, wait: Number(headers.get("retry-after")), text };
    };
    const slow = await whileLocked(service.database.adminUrl, "notes", () =>
      ask(app, "order=position"),
    );
    expect(slow.status).toBe(504);
    const { status, wait, text } = await ask(app, "order=position");
    expect([status, JSON.parse(text).error]).toEqual([429, "rate_limited"]);
    expect(wait).toBeGreaterThan(0);
    expectSentences(JSON.parse(text).message, {
      names: ["0.1 seconds a minute", 'declare .index("position")'],
    });
    for (const [by, query] of [
      [app, "order=id"],
      [other, "order=position"],
    ] as const)
      expect([query, (await ask(by, query)).status]).toEqual([query, 200]);
  },
);

testUnlessCitus("a cluster has no query functions")(
  "a write along an index has the time of any write, longer than that of a query",
  async () => {
    await using service = await openTestService({
      service: { previews: ["filters"], queryTimeoutS: 0.2 },
    });
    const app = await makeNotes(service, [{ done: true, position: 1 }]);
    const [note] = (await readAll(service, app, "order=id")).notes;
    const path = `${NOTES}?id=in.(${note?.id})`;
    const { write } = await whileLocked(service.database.adminUrl, "notes", async () => {
      const sent = service.call(app, path, { method: "PATCH", json: { position: 2 } });
      // Sent later, and with an end of its own.
      expect((await service.call(app, path)).status).toBe(504);
      return { write: sent };
    });
    expect((await write).json).toEqual({ count: 1 });
  },
);

const UNINDEXED = [
  ["GET ?order=position.desc", '0.1 seconds, .index("position")'],
  ["GET ?order=due_at", '.index("due_at")'],
  ["GET ?order=title", '.index("title")'],
  ["GET ?project=not.is.null&order=done", '.index("done")'],
  ["GET ?meta=is.null&order=title", '.index("title")'],
  ["GET ?or=(title.eq.a,title.ilike.*b*)&order=title", '.index("title")'],
  ["GET ?order=title,due_at.desc", '.index("title")'],
  ["GET ?order=title,due_at", '.index("title", "due_at")'],
  ["GET ?due_at=is.null&order=title", '.index("due_at", "title")'],
  ["GET /groups?by=done", "Cannot group, timestamp"],
  ["PATCH ?title=eq.x", 'Nothing was written, .index("title") on todos'],
  ["DELETE ?done=eq.true", 'Nothing was written, .index("done") on todos'],
] as const;
