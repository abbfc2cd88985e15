/** The tag of a page changes if and only if the page changes. @module */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { postDefinition } from "../support/push.ts";
import {
  definitionOf,
  openTestService,
  type TestApp,
  type TestResponse,
} from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  projects: { name: t.string() },
  todos: { title: t.string(), project: t.ref("projects"), done: t.boolean().default(false) },
});
const TODOS = "/v1/data/db/todos";
const LONG = "x".repeat(9_000);

const service = await share(openTestService());
const app = await service.makeApp(schema);
const ids: string[] = [];
for (const title of ["a", "b", "c", "d"]) ids.push(await make(app, { title }));

const call = (path: string, headers: Record<string, string> = {}, as = app) =>
  service.call(as, path, { headers });

async function make(as: TestApp, json: object, path = TODOS): Promise<string> {
  const created = await service.call(as, path, { method: "POST", json });
  return (created.json as { id: string }).id;
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

/** Returns the page's tag without the suffix of its encoding. */
const readTag = ({ headers }: TestResponse) => headers.get("etag")?.replace("-zstd", "") ?? "";

/** Returns whether a conditional request gets 304. Checks that the tag and the text match an unconditional request. */
async function isSame(tag: string, query = ""): Promise<boolean> {
  const conditional = await call(TODOS + query, { "if-none-match": tag });
  const full = await call(TODOS + query);
  expect(readTag(conditional)).toBe(readTag(full));
  expect([conditional.status, conditional.text]).toEqual(
    conditional.status === 304 ? [304, ""] : [200, full.text],
  );
  return conditional.status === 304;
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
    const response = await call(
      "/v1/data/db/things",
      { "if-none-match": before.headers.get("etag") ?? "" },
      own,
    );
    expect([response.status, response.json]).toMatchObject([
      200,
      { rows: [{ name: "one", size: 5 }] },
    ]);
  });

  test("the database, so another database's tag is invalid", async () => {
    const seed = `update rowhouse.tag_seed set value = uuid_send('${crypto.randomUUID()}') returning 1 as id`;
    const tag = await tagOf();
    await service.service.admin.message(seed);
    expect(await isSame(tag)).toBe(false);
  });
});

describe("a list's tag does not change with", () => {
  const SAME = Object.entries<() => Promise<unknown>>({
    "a repeated read": () => Promise.resolve(),
    "a rejected write": () => patch(0, { project: ids[0] }),
    "a PATCH without columns": () => patch(0, {}),
    "another app's writes": async () => {
      const other = await service.makeApp(schema);
      await make(other, { title: "theirs" });
    },
    "a later column of another app": () =>
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
    VACUUM: () => service.service.admin.message("vacuum freeze data.todos"),
  });

  test.each(SAME)("%s", async (_, change) => {
    const tag = await tagOf();
    await change();
    expect(await isSame(tag)).toBe(true);
  });
});

test("two apps with equal rows have different tags", async () => {
  const [mine, other] = [await service.makeApp(schema), await service.makeApp(schema)];
  const [tag, theirs] = [await tagOf("", mine), await tagOf("", other)];
  // Two empty pages. On a cluster, their nodes can have different start times.
  if (citusUrl() === undefined) expect(theirs).toBe(tag);
  await make(mine, { title: "x" });
  await make(other, { title: "x" });
  expect(await tagOf("", mine)).not.toBe(await tagOf("", other));
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
    // Reads can be slower than writes: continue until the reads have seen enough tags.
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
