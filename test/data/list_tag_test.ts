/** The tag of a page: another for whatever changes the page, the same for whatever does not. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { postDefinition } from "../support/push.ts";
import {
  definitionOf,
  openTestService,
  type TestApp,
  type TestResponse,
  type TestService,
} from "../support/service.ts";

const schema = defineSchema({
  projects: { name: t.string() },
  todos: { title: t.string(), project: t.ref("projects"), done: t.boolean().default(false) },
});
const TODOS = "/v1/data/db/todos";
const LONG = "x".repeat(9_000);

let service: TestService;
let app: TestApp;
let ids: string[];
beforeAll(async () => {
  service = await openTestService();
  app = await service.makeApp(schema);
  ids = [];
  for (const title of ["a", "b", "c", "d"]) ids.push(await make(app, { title }));
});
afterAll(() => service.close());

const call = (path: string, headers: Record<string, string> = {}, as = app) =>
  service.call(as, path, { headers });

async function make(as: TestApp, json: object, path = TODOS): Promise<string> {
  const made = await service.call(as, path, { method: "POST", json });
  return (made.json as { id: string }).id;
}

const rowPath = (index: number) => `${TODOS}/${ids[index]}`;
const patch = (index: number, json: object) =>
  service.call(app, rowPath(index), { method: "PATCH", json });

async function tagOf(query = "", as = app): Promise<string> {
  const response = await call(TODOS + query, {}, as);
  const tag = readTag(response);
  expect([response.status, tag]).toEqual([200, expect.stringMatching(/^"[0-9a-f]{32}"$/)]);
  return tag;
}

/** The tag of the page itself: a page that is compressed has another name for each encoding. */
const readTag = ({ headers }: TestResponse) => headers.get("etag")?.replace("-zstd", "") ?? "";

/** Whether a reader who has the page is told that it is the same, which is true. */
async function isSame(tag: string, query = ""): Promise<boolean> {
  const asked = await call(TODOS + query, { "if-none-match": tag });
  const whole = await call(TODOS + query);
  expect(readTag(asked)).toBe(readTag(whole));
  expect([asked.status, asked.text]).toEqual(asked.status === 304 ? [304, ""] : [200, whole.text]);
  return asked.status === 304;
}

const CHANGES: readonly { name: string; change: () => Promise<unknown>; query?: string }[] = [
  { name: "an update", change: () => patch(0, { title: "new" }) },
  { name: "an update to the same values", change: () => patch(0, { title: "new" }) },
  { name: "a new row", change: async () => ids.push(await make(app, { title: "e" })) },
  {
    name: "a delete",
    change: () => service.call(app, rowPath(ids.length - 1), { method: "DELETE" }),
  },
  { name: "a change of a long value", change: () => patch(1, { title: LONG }) },
  { name: "a change next to a long value", change: () => patch(1, { done: true }) },
  {
    name: "a change of the first row after the page",
    change: () => patch(2, { title: "behind" }),
    query: "?limit=2",
  },
  {
    name: "a row that is deleted and created again with the same id and values",
    change: () =>
      service.service.admin.message(`with gone as (delete from data.todos where id = '${ids[3]}' returning *)
        select 1 from gone; insert into data.todos (app_id, id, title) values ('${app.id}', '${ids[3]}', 'd') returning id`),
  },
];

describe("a list's tag changes with", () => {
  test.each(CHANGES)("$name", async ({ change, query = "" }) => {
    const tag = await tagOf(query);
    expect(await isSame(tag, query)).toBe(true);
    await change();
    expect(await isSame(tag, query)).toBe(false);
  });

  test("the requested page", async () => {
    const queries = ["", "?limit=2", "?limit=3", "?limit=2&offset=1", "?limit=0", "?offset=1000"];
    const tags = await Promise.all(queries.map((query) => tagOf(query)));
    expect(new Set(tags).size).toBe(queries.length);
    expect(await isSame(tags[0] ?? "", "?limit=2")).toBe(false);
  });

  test("the app's columns", async () => {
    const own = await service.makeApp(defineSchema({ things: { name: t.string() } }));
    await make(own, { name: "one" }, "/v1/data/db/things");
    const before = await call("/v1/data/db/things", {}, own);
    const grown = defineSchema({ things: { name: t.string(), size: t.number().default(5) } });
    expect((await postDefinition(service, own, definitionOf(grown))).status).toBe(200);
    const asked = await call(
      "/v1/data/db/things",
      { "if-none-match": before.headers.get("etag") ?? "" },
      own,
    );
    expect([asked.status, asked.json]).toMatchObject([200, { rows: [{ name: "one", size: 5 }] }]);
  });

  test("the database, so another database's tag is invalid", async () => {
    const seed = `update rowhouse.tag_seed set value = uuid_send('${crypto.randomUUID()}') returning 1 as id`;
    const tag = await tagOf();
    await service.service.admin.message(seed);
    expect(await isSame(tag)).toBe(false);
  });
});

describe("a list's tag does not change with", () => {
  const SAME: readonly { name: string; act: () => Promise<unknown> }[] = [
    { name: "a repeated read", act: () => Promise.resolve() },
    { name: "a rejected write", act: () => patch(0, { project: ids[0] }) },
    { name: "a PATCH without columns", act: () => patch(0, {}) },
    {
      name: "another app's writes",
      act: async () => {
        const other = await service.makeApp(schema);
        await make(other, { title: "theirs" });
      },
    },
    {
      name: "a later column of another app",
      act: () =>
        service.makeApp(
          defineSchema({
            todos: {
              title: t.string(),
              project: t.ref("projects"),
              done: t.boolean().default(false),
            },
            projects: { name: t.string() },
          }),
        ),
    },
    { name: "VACUUM", act: () => service.service.admin.message("vacuum freeze data.todos") },
  ];

  test.each(SAME)("$name", async ({ act }) => {
    const tag = await tagOf();
    await act();
    expect(await isSame(tag)).toBe(true);
  });
});

test("two apps with equal rows have different tags", async () => {
  const [one, other] = [await service.makeApp(schema), await service.makeApp(schema)];
  const [tag, theirs] = [await tagOf("", one), await tagOf("", other)];
  // Two empty pages; on a cluster each may come from a node of its own, which has started at a time of its own.
  if (citusUrl() === undefined) expect(theirs).toBe(tag);
  await make(one, { title: "x" });
  await make(other, { title: "x" });
  expect(await tagOf("", one)).not.toBe(await tagOf("", other));
});

test("HEAD and every format of the tag get the same response", async () => {
  const tag = await tagOf();
  const forms = [`W/${tag}`, `"x", ${tag}`, tag.replace(/"$/, '-zstd"'), "*"];
  for (const form of forms) expect((await call(TODOS, { "if-none-match": form })).status).toBe(304);
  const head: TestResponse = await service.call(app, TODOS, {
    method: "HEAD",
    headers: { "if-none-match": tag },
  });
  expect([head.status, head.headers.get("etag")]).toEqual([304, tag]);
  expect((await call(TODOS, { "if-none-match": "x" })).json).toMatchObject({
    error: "invalid_precondition",
  });
});

test("a page read during changes of its rows has the tag of its content", async () => {
  const own = await service.makeApp(schema);
  const id = await make(own, { title: "0" });
  let isOver = false;
  const byTag = new Map<string, string>();
  const writing = (async () => {
    // Reads may be slower than writes: there are enough once the reads have seen enough.
    for (let n = 0; n < 150 || byTag.size <= 10; n++) {
      if (n % 3 === 0) await make(own, { title: `row ${n}` });
      await service.call(own, `${TODOS}/${id}`, { method: "PATCH", json: { title: `${n}` } });
    }
    isOver = true;
  })();
  const read = async () => {
    while (!isOver) {
      const { headers, text } = await call(TODOS, {}, own);
      const tag = headers.get("etag") ?? "";
      expect(byTag.get(tag) ?? text).toBe(text);
      byTag.set(tag, text);
    }
  };
  await Promise.all([writing, read(), read(), read()]);
  expect(byTag.size).toBeGreaterThan(10);
});
