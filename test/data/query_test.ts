/** Lists with conditions, an order, a selection and cursors with the preview on, and their rejection by default. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { matches } from "../../src/sdk/matches.ts";
import { MAX_ROWS } from "../../src/std/limits.ts";
import { cases } from "../support/cases.ts";
import { codeOf } from "../support/problem.ts";
import { postDefinition } from "../support/push.ts";
import { expectSentences } from "../support/sentences.ts";
import {
  definitionOf,
  openTestService,
  type TestApp,
  type TestService,
} from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  projects: { name: t.string().required().unique() },
  members: t
    .model({
      email: t.string().unique(),
      level: t.number().unique(),
      badge: t.uuid().unique(),
      team: t.string(),
      place: t.string(),
    })
    .unique("team", "place"),
  todos: t
    .model({
      title: t.string().required(),
      status: t.enum(["open", "doing", "done"]).required().default("open"),
      done: t.boolean().required().default(false),
      project: t.ref("projects"),
      due_at: t.timestamp(),
      price: t.decimal(),
      position: t.number(),
      meta: t.json(),
      limit: t.number(),
    })
    .index("done", "due_at", "id"),
});
const TODOS = "/v1/data/db/todos";

const ROWS = Array.from({ length: 30 }, (_, index) => ({
  title: `Task ${index}`,
  status: ["open", "doing", "done"][index % 3],
  done: index % 2 === 0,
  due_at: index % 5 === 0 ? null : `2026-01-${10 + (index % 7)}T00:00:00Z`,
  price: `${index}.50`,
  position: index,
  limit: index % 4,
}));
const service = await share(
  openTestService({ service: { previews: ["filters"], maxCounted: 40 } }),
);
const app = await service.makeApp(schema);
const other = await service.makeApp(schema);
for (const user of [app, other]) await create(user, ROWS);

async function create(as: TestApp, json: object): Promise<string> {
  const created = await service.call(as, TODOS, { method: "POST", json });
  expect(created.status).toBe(201);
  return (created.json as { id: string }).id;
}

type Found = {
  rows: Record<string, unknown>[];
  hasMore: boolean;
  next: string | null;
  count?: number | null;
};

async function list(query: string, headers: Record<string, string> = {}): Promise<Found> {
  const { status, json, text } = await service.call(app, `${TODOS}?${query}`, { headers });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return json as Found;
}

const positions = async (query: string) => (await list(query)).rows.map(({ position }) => position);

test.each<{ query: string; found: number[] }>([
  { query: "position=eq.3", found: [3] },
  { query: "position=eq.3.0", found: [3] },
  { query: "price=eq.3.500", found: [3] },
  { query: "position=gt.26", found: [27, 28, 29] },
  { query: "position=gte.2&position=lt.4", found: [2, 3] },
  { query: "title=like.*k%201", found: [1] },
  { query: "title=ilike.TASK%202*&order=position.desc&limit=2", found: [29, 28] },
  { query: "title=like.%25", found: [] },
  { query: `title=like.${encodeURIComponent("\u{1f642}".repeat(200))}`, found: [] },
  { query: "position=in.(4,5,40)", found: [4, 5] },
  { query: 'title=in.("Task 7",Task 8)', found: [7, 8] },
  { query: "and=(limit.eq.3,position.lt.8)", found: [3, 7] },
  { query: "or=(position.eq.1,and(position.gt.27,done.eq.true))", found: [1, 28] },
  { query: "not.or=(position.gt.1,position.eq.0)", found: [1] },
  { query: "position=not.gt.1", found: [0, 1] },
  { query: 'or=(title.eq."Task 1",title.not.ilike."*")', found: [1] },
  { query: "meta=not.is.null", found: [] },
  { query: "status=gt.doing&position=lt.6", found: [2, 5] },
  { query: "due_at=eq.2026-01-11T01:00:00%2B01:00&position=lt.10", found: [1, 8] },
  { query: "due_at=eq.2026-01-11T00:00:00.000000499Z&position=lt.10", found: [1, 8] },
  { query: "due_at=neq.2026-01-11T00:00:00Z&position=lt.3", found: [2] },
  { query: "order=due_at.desc,position&limit=3", found: [6, 13, 27] },
  { query: "order=done,position.desc&limit=2", found: [29, 27] },
  { query: "offset=28&order=position", found: [28, 29] },
  { query: "limit=0&position=eq.1", found: [] },
])("?$query", async ({ query, found }) => {
  expect(await positions(query)).toEqual(found);
});

test.each([
  ["ÉCOLE", "école", true],
  ["ХЛЕБ", "хлеб", true],
  ["GROẞ", "groß", true],
  ["Straße", "STRASSE", false],
  ["τέλος", "ΤΈΛΟΣ", true],
  ["İstanbul", "ISTANBUL", true],
  ["ısparta", "ISPARTA", true],
  ["a.c", "A?C", false],
  ["(a|b)[c]{2}^$", "(A|B)[C]{2}^$", true],
])("ilike compares %s and %s in every alphabet: %j", async (title, typed, isFound) => {
  const id = await create(other, { title });
  const found = await service.call(
    other,
    `${TODOS}?id=eq.${id}&${new URLSearchParams({ title: `ilike.*${typed}*` })}`,
  );
  expect((found.json as Found).rows.length).toBe(isFound ? 1 : 0);
  expect(matches({ title }, { title: { ilike: `*${typed}*` } })).toBe(isFound);
});

test.each([
  ['"a": [1, "Größe"]', true],
  ["GRÖẞE", true],
  ["größe", true],
  ["b", false],
])("ilike finds %s in JSON: %j", async (typed, isFound) => {
  const id = await create(other, { title: "json", meta: { a: [1, "Größe"] } });
  const query = new URLSearchParams({ id: `eq.${id}`, meta: `ilike.*${typed}*` });
  const { json } = await service.call(other, `${TODOS}?${query}`);
  expect((json as Found).rows.length).toBe(isFound ? 1 : 0);
});

test.each([
  ["5\\*3", "5*3", true],
  ["5\\*3", "5x3", false],
  ["*\\**", "x*y", true],
  ["*\\**", "xy", false],
  ["a\\\\*", "a\\b", true],
  ["a\\\\*", "a*", false],
  ["a\\b\\", "a\\b\\", true],
  ["a\\\\b", "a\\b", true],
  ["100%_*", "100%_x", true],
  ["100%_*", "100xyx", false],
  [`${"\\*".repeat(200)}`, "*".repeat(200), true],
])("the pattern %s and the text %s: %j", async (pattern, title, isFound) => {
  const id = await create(other, { title });
  for (const operator of ["like", "ilike"]) {
    const condition = new URLSearchParams({ title: `${operator}.${pattern}` });
    const found = await service.call(other, `${TODOS}?id=eq.${id}&${condition}`);
    expect((found.json as Found).rows.length).toBe(isFound ? 1 : 0);
    expect(matches({ title }, { title: { [operator]: pattern } })).toBe(isFound);
  }
});

describe("a selection", () => {
  test("has its columns in the table's order", async () => {
    const { rows } = await list("select=price,title&position=eq.3");
    expect(JSON.stringify(rows)).toBe('[{"title":"Task 3","price":"3.50"}]');
  });
});

describe("a rejected query", () => {
  const REJECTED = cases("code", "rule", "queries")`
    invalid_query     | a column    | nothing=eq.1 app_id=eq.1 order=nothing
    invalid_query     | a number    | position=5 position=eq.5x position=eq.0x10 position=eq.NaN price=eq.1e3
    invalid_query     | digits      | position=eq.0.1000000000000000055511151231257827
    invalid_query     | a time      | due_at=gt.now due_at=gt.infinity due_at=gt.2026-01-01
    invalid_query     | a value     | done=eq.yes project=eq.1 status=eq.lost title=is.true title=eq.%ff
    invalid_query     | U+0000      | title=eq.a%00b title=like.a%00b
    invalid_query     | a list      | title=in.() title=in.(a title=in.(a)b
    invalid_query     | a group     | or=() or=(title.eq.a or=title.eq.a or=(title.eq.(a))
    invalid_query     | an order    | order=title,title.desc order=title.desc.nullslast order= order=title&order=id
    invalid_query     | a selection | select= select=* select=id,id
    invalid_query     | a page      | limit=1&limit=2 after=x&offset=1 after=x
    invalid_query     | a cursor    | after=${toCursor(["title.asc,id.asc", "a", "b"])} after=${toCursor(["id.asc", "no uuid"])} after=${toCursor(["id.asc", null])}
    unsupported_query | a kind      | meta=eq.1 meta=like.*a* order=meta done=gt.true status=ilike.*o*
    unsupported_query | a pattern   | title=like.${"x".repeat(201)} title=like.*******
    unsupported_query | a number    | order=title,price,done,id ${"position=gt.1&".repeat(31)} position=in.(${"1,".repeat(100)}1)
    unsupported_query | a depth     | or=(or(or(or(or(done.eq.true)))))
    unsupported_query | a size      | title=eq.${"x".repeat(8192)}
  `;
  const QUERIES = REJECTED.flatMap(({ code, queries }) =>
    queries.split(" ").map((query) => ({ query, code })),
  );

  test.each(QUERIES)("?$query gets $code", async ({ query, code }) => {
    const { status, text } = await service.call(app, `${TODOS}?${query}`);
    expect([status, codeOf(text)]).toEqual([400, code]);
  });

  test.each([
    {
      name: "every issue",
      query: "status=eq.lost&nothing=eq.1&done=gt.true",
      names: ['"status"', '"lost"', '"doing"', '"nothing"', 'gt on "done"', "boolean", "is.null"],
    },
    {
      name: "the nearest column, and an example with the value",
      query: "titel=eq.a&status=done&or=(title.open,done.is.null)&order=pric",
      names: ['"titel"', 'mean "title"?', "such as eq.done", "such as eq.open", 'mean "price"?'],
    },
    {
      name: "the reason why app_id is not supported",
      query: "select=id,app_id&app_id=eq.1&order=app_id",
      names: ['"app_id"'],
    },
    {
      name: "the issues of limit and offset with other issues",
      query: "limit=x&offset=-1&nothing=eq.1",
      names: ['"nothing"', 'limit "x"', 'offset "-1"', "from 0"],
    },
    {
      name: "every issue of an order and of a selection",
      query: "order=one,title,meta&select=two,id,three",
      names: ['"one"', '"meta"', "json", '"two"', '"three"'],
    },
    {
      name: "an order in another direction",
      query: "order=title.DESC",
      names: ['"title.DESC"', ".asc", ".desc"],
    },
    {
      name: "every issue of a group and of a list of values",
      query: "or=(one.eq.1,done.gt.true,and(position.in.(1,x,y)))",
      names: ['"one"', 'gt on "done"', '"position" with "x"', '"position" with "y"'],
    },
    {
      name: "no cursor issue if the order has an issue",
      query: `order=nothing&after=${toCursor(["nothing.asc,id.asc", "a", "b"])}`,
      names: ['"nothing"'],
    },
    { name: "an issue only once", query: "position=gt.1&".repeat(40), names: ["30 conditions"] },
  ])("names $name", async ({ query, names }) => {
    const { status, json } = await service.call(app, `${TODOS}?${query}`);
    expect(status).toBe(400);
    expectSentences((json as { message: string }).message, { names });
  });

  test("names max 10 issues", async () => {
    const query = `or=(${Array.from({ length: 12 }, (_, index) => `no${index}.eq.1`).join()})`;
    const { text } = await service.call(app, `${TODOS}?${query}`);
    expect(text.match(/no such column/g)).toHaveLength(10);
  });

  test("with an invalid key names no issue", async () => {
    const { status } = await service.call(app, `${TODOS}?nothing=eq.1`, { key: `${app.key}x` });
    expect(status).toBe(401);
  });
});

function toCursor(values: unknown[]): string {
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

describe("pages by cursor", () => {
  test("continue after a deleted row", async () => {
    const late = await service.makeApp(schema);
    const created: string[] = [];
    for (const position of [1, 2, 3]) created.push(await create(late, { title: "late", position }));
    const first = (await service.call(late, `${TODOS}?order=position&limit=1`)).json as Found;
    await service.call(late, `${TODOS}/${created[1]}`, { method: "DELETE" });
    const second = (await service.call(late, `${TODOS}?order=position&limit=1&after=${first.next}`))
      .json as Found;
    expect(second.rows.map(({ position }) => position)).toEqual([3]);
  });
});

describe("a count", () => {
  const PREFER = { prefer: "count=exact" };

  test("includes all matching rows, regardless of the page", async () => {
    expect(await list("done=eq.true&limit=1", PREFER)).toMatchObject({ count: 15, hasMore: true });
    expect(await list("limit=1", PREFER)).toMatchObject({ count: 30 });
    expect(await list("limit=1")).not.toHaveProperty("count");
  });

  test.each([
    { kind: "timestamp", column: t.timestamp().index(), value: "2026-01-01T00:00:00Z" },
    { kind: "text", column: t.string().index(), value: "a" },
  ])("of an order by a $kind is the same on pages of rows without a value", async (shown) => {
    const table = `late_${shown.kind}`;
    const late = defineSchema({ [table]: { key: shown.column, n: t.number() } });
    const mine = await service.makeApp(late);
    const json = [null, null, shown.value].map((key, n) => ({ key, n }));
    await service.call(mine, `/v1/data/db/${table}`, { method: "POST", json });
    let after = "";
    for (const n of [2, 0, 1]) {
      const path = `/v1/data/db/${table}?order=key&limit=1${after}`;
      const page = (await service.call(mine, path, { headers: PREFER })).json as Found;
      expect([page.rows[0]?.["n"], page.count]).toEqual([n, 3]);
      after = `&after=${page.next}`;
    }
  });

  test("is null above the most rows of a count", async () => {
    const many = await service.makeApp(schema);
    await create(many, [...ROWS, ...ROWS]);
    const { json } = await service.call(many, `${TODOS}?position=gte.0&limit=1`, {
      headers: PREFER,
    });
    expect(json).toMatchObject({ count: null, hasMore: true });
  });
});

describe("a tag", () => {
  test("is the same until a row of the page changes", async () => {
    const mine = await service.makeApp(schema);
    const [id] = [await create(mine, { title: "mine" }), await create(mine, { title: "other" })];
    const path = `${TODOS}?title=eq.mine`;
    const ask = (headers = {}) => service.call(mine, path, { headers });
    const etag = (await ask()).headers.get("etag") ?? "";
    expect((await ask({ "if-none-match": etag })).status).toBe(304);
    expect((await ask()).headers.get("etag")).toBe(etag);
    await service.call(mine, `${TODOS}/${id}`, { method: "PATCH", json: { position: 1 } });
    const changed = await ask({ "if-none-match": etag });
    expect([changed.status, (changed.json as Found).rows[0]?.["position"]]).toEqual([200, 1]);
  });
});

test("a table with the max number of columns can be queried", async () => {
  const names = Array.from({ length: 200 }, (_, index) => `c${index}`);
  const columns = Object.fromEntries(names.map((name) => [name, t.number()]));
  const wide = await service.makeApp(defineSchema({ wide: columns }));
  const path = "/v1/data/db/wide";
  await service.call(wide, path, { method: "POST", json: { c0: 1, c199: 2 } });
  const { json } = await service.call(wide, `${path}?c0=eq.1&order=c1&select=c0,c199`);
  expect(json).toMatchObject({ rows: [{ c0: 1, c199: 2 }] });
});

test("a query does not use an unfinished index", async () => {
  const late = await service.makeApp(schema);
  await create(late, ROWS);
  await service.service.admin.message(
    "update pg_catalog.pg_index set indisvalid = false where indexrelid = 'data.todos__done__due_at__id__search_idx'::regclass; select 1",
  );
  const path = `${TODOS}?done=eq.true&due_at=not.is.null&order=due_at&limit=1`;
  const { status, json } = await service.call(late, path);
  expect([status, (json as Found).rows.length]).toEqual([200, 1]);
  await service.service.admin.message(
    "update pg_catalog.pg_index set indisvalid = true where indexrelid = 'data.todos__done__due_at__id__search_idx'::regclass; select 1",
  );
});

test("a query accepts a column that another process has just pushed", async () => {
  const growing = await service.makeApp(defineSchema({ growing: { title: t.string() } }));
  const more = defineSchema({ growing: { a_first: t.string(), title: t.string() } });
  await service.call(growing, "/v1/data/db/growing", { method: "POST", json: { title: "x" } });
  await service.call(growing, "/v1/data/db/growing?title=eq.x");
  await service.pushSchema(growing, more);
  const { json } = await service.call(growing, "/v1/data/db/growing?a_first=is.null&title=eq.x");
  expect((json as Found).rows).toHaveLength(1);
});

describe("without the preview", () => {
  let plain: TestService;
  beforeAll(async () => {
    plain = await openTestService({ service: { previews: [] } });
  });
  afterAll(() => plain.close());

  test("no query function is generated, and every parameter is rejected", async () => {
    const mine = await plain.makeApp();
    expect((await postDefinition(plain, mine, definitionOf(schema))).status).toBe(200);
    const created = await plain.query(
      "select from pg_catalog.pg_proc where pronamespace = 'api'::regnamespace and proname like '%query'",
    );
    expect(created).toHaveLength(0);
    for (const query of ["order=id", "select=id", "title=eq.a", "or=(title.eq.a)", "after=x"]) {
      const { status, text } = await plain.call(mine, `${TODOS}?${query}`);
      expect([query, status, codeOf(text)]).toEqual([query, 400, "unsupported_query"]);
    }
    const { json } = await plain.call(mine, TODOS, { headers: { prefer: "count=exact" } });
    expect(json).toEqual({ rows: [], limit: MAX_ROWS, offset: 0, hasMore: false });
  });
});
