/** Batches: one request creates all rows in order, or no row. Each issue names its row. @module */
import { describe, expect, test } from "bun:test";
import { type Detail, PROBLEMS, type ProblemCode } from "../../src/problem.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MAX_BATCH } from "../../src/std/limits.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, type TestResponse } from "../support/service.ts";
import { share } from "../support/share.ts";

const MAX = 262_144;
const LIST = "/v1/data/db/todos";
const MISSING = "00000000-0000-7000-8000-000000000000";
const columns = {
  title: t.string().required().unique(),
  note: t.string().default("it's $1"),
  rank: t.number().required().default(7),
  price: t.decimal().default("0.10"),
  done: t.boolean().default(false),
  token: t.uuid(),
  due: t.timestamp().default("now"),
  extra: t.json().default({ a: [1] }),
  kind: t.enum(["a", "b"]).required().default("b"),
  project: t.ref("projects", { onDelete: "cascade" }),
  origin: t.ref("todos"),
};
const schema = defineSchema({ projects: { name: t.string().required() }, todos: columns });

const service = await share(openTestService({ service: { maxResponseBytes: MAX } }));
const [app, other] = [await service.makeApp(schema), await service.makeApp(schema)];
const post = (json: unknown, path = LIST) => service.call(app, path, { method: "POST", json });
const created = await post({ name: "p" }, "/v1/data/db/projects");
const project = (created.json as { id: string }).id;
await post({ title: "taken" });
await service.call(other, LIST, { method: "POST", json: { title: "theirs" } });

function many<Row>(count: number, toRow: (index: number) => Row): Row[] {
  return Array.from({ length: count }, (_, index) => toRow(index));
}
const rowsOf = ({ json }: TestResponse) => (json as { rows: Record<string, unknown>[] }).rows;

test("rows are created in order, with the same values and defaults as single creates", async () => {
  const title = () => crypto.randomUUID();
  const values: Record<string, unknown>[] = [
    { title: title() },
    {
      title: title(),
      note: "ü\u0001'\"\\",
      rank: -0.5,
      price: "12345678901234567890.10",
      done: true,
      token: MISSING.toUpperCase(),
      due: "2026-01-02T04:04:05.123456+01:00",
      extra: { deep: [null, "x", { k: 0.1 }] },
      kind: "a",
      project,
      id: MISSING,
      app_id: other.id,
      unknown: 1,
    },
    { title: title(), note: null, price: null, done: null, due: null, extra: null },
    { title: title(), extra: [], rank: 1e21 },
  ];
  const created = await post(values);
  expect([created.status, created.headers.get("location"), created.headers.get("etag")]).toEqual([
    201,
    null,
    null,
  ]);
  const rows = rowsOf(created);
  for (const [index, row] of rows.entries()) {
    const single = await post({ ...values[index], title: title() });
    const { id, title: _, ...rest } = single.json as Record<string, unknown>;
    const { id: own, title: given, ...same } = row;
    expect([own === id, given]).toEqual([false, values[index]?.["title"]]);
    if (index === 0 || index === 3) [same, rest].map((row) => delete row["due"]);
    expect(same).toEqual(rest);
    expect((await service.call(app, `${LIST}/${own}`)).json).toEqual(row);
  }
  const ids = rows.map(({ id }) => id);
  expect([ids.length, ids.toSorted(), new Set(ids).size]).toEqual([4, ids, 4]);
  const listed = rowsOf(await service.call(app, LIST)).filter(({ id }) => ids.includes(id));
  expect(listed).toEqual(rows);
});

test("one request creates 1,000 rows, and 1,001 rows are rejected", async () => {
  const own = await service.makeApp(schema);
  const send = (json: unknown) =>
    service.call(own, "/v1/data/db/projects", { method: "POST", json });
  const created = await send(many(MAX_BATCH, (index) => ({ name: `${index}` })));
  expect(rowsOf(created).map(({ name }) => name)).toEqual(many(MAX_BATCH, String));
  expect(rowsOf(await service.call(own, "/v1/data/db/projects"))).toEqual(rowsOf(created));
  const rejected = await send(many(1001, (index) => ({ name: `${index}` })));
  expect([rejected.status, rejected.json]).toMatchObject([
    400,
    { error: "invalid_json", message: expect.stringContaining("1 to 1000 JSON objects") },
  ]);
});

type Rejected = {
  name: string;
  body: () => unknown;
  code: ProblemCode;
  names?: string[];
  paths?: string[];
};
type Rejection = { error: string; message: string; details?: Detail[] };
const good = (index: number) => ({ title: `good ${index}`, project });
const REJECTED: readonly Rejected[] = [
  { name: "no rows", body: () => [], code: "invalid_json" },
  { name: "a list with a number", body: () => [good(0), 1], code: "invalid_json" },
  { name: "null among rows", body: () => [null, good(0)], code: "invalid_json" },
  { name: "a list of lists", body: () => [[good(0)]], code: "invalid_json" },
  {
    name: "invalid values in any row",
    body: () => [good(0), { kind: "c", rank: "1" }, good(2), { ...good(3), price: 1.5 }],
    code: "validation_failed",
    paths: ["/1/kind", "/1/rank", "/1/title", "/3/price"],
  },
  {
    name: "a value that another row has",
    body: () => [...many(40, good), { title: "taken" }, { title: "taken" }],
    code: "unique_violation",
    paths: ["/40/title"],
  },
  {
    name: "a value that another row of the batch has",
    body: () => [{ title: "twice" }, good(1), { title: "twice" }],
    code: "unique_violation",
    paths: ["/2/title"],
  },
  {
    name: "a dangling reference",
    body: () => [good(0), { ...good(1), project: MISSING }, { title: "taken" }],
    code: "validation_failed",
    paths: ["/1/project"],
  },
  {
    name: "a duplicate before a dangling reference",
    body: () => [good(0), { title: "taken" }, { ...good(2), origin: MISSING }],
    code: "unique_violation",
    paths: ["/1/title"],
  },
  {
    name: "rows larger than the limit of a response",
    body: () => many(MAX_BATCH, (index) => ({ title: `${index}`, rank: 1e300 })),
    code: "body_too_large",
    names: [`${MAX} bytes`],
  },
  {
    name: "more than 100 KB",
    body: () => many(2, (index) => ({ title: `${index}`, note: "x".repeat(51_200) })),
    code: "body_too_large",
    names: ["102400 bytes"],
  },
];

describe("no row is created by", () => {
  test.each(REJECTED)("$name", async ({ body, code, names, paths = [] }) => {
    const before = await Promise.all([app, other].map((user) => service.call(user, LIST)));
    const response = await post(body());
    const { error, message, details = [] } = JSON.parse(response.text) as Rejection;
    expect([response.status, error, details.map(({ path }) => path)]).toEqual([
      PROBLEMS[code].status,
      code,
      paths,
    ]);
    expectSentences([message, ...details.map((detail) => detail.message)].join("\n"), { names });
    const after = await Promise.all([app, other].map((user) => service.call(user, LIST)));
    expect(after.map(({ text }) => text)).toEqual(before.map(({ text }) => text));
    expect(service.log.filter((line) => line.includes('"bug"'))).toEqual([]);
  });

  test("a thousand rows of long defaults, which never reach the database", async () => {
    const own = await service.makeApp(
      defineSchema({ wide: { a: t.string().default("x".repeat(1000)), b: t.number() } }),
    );
    const send = (json: unknown) => service.call(own, "/v1/data/db/wide", { method: "POST", json });
    const rejected = await send(many(MAX_BATCH, () => ({ b: 1 })));
    expect([rejected.status, rejected.json]).toMatchObject([413, { error: "body_too_large" }]);
    expect(await readSize("wide")).toBe(0);
    expect(rowsOf(await send(many(MAX_BATCH, (a) => ({ a: `${a}` }))))).toHaveLength(MAX_BATCH);
  });

  test("a batch to the path of a row", async () => {
    const [row] = rowsOf(await service.call(app, LIST));
    const path = `${LIST}/${row?.["id"]}`;
    const response = await service.call(app, path, { method: "PATCH", json: [{ title: "x" }] });
    expect([response.status, response.json]).toMatchObject([400, { error: "invalid_json" }]);
  });

  test("more errors than the response lists", async () => {
    const response = await post(many(MAX_BATCH, () => ({ rank: "x" })));
    const { details } = response.json as { details: Detail[] };
    expect([details.length, details.at(-1)?.path]).toEqual([1000, "/499/title"]);
  });
});

/** Returns the size of a table: rolled-back rows also use space. */
async function readSize(table: string): Promise<number | undefined> {
  const [row] = await service.query<{ size: number }>(
    "select pg_catalog.pg_relation_size(('data.' || $1::text)::regclass)::int4 as size",
    [table],
  );
  return row?.size;
}

test("a batch rejected for one row can be sent again without that row", async () => {
  const rows = [{ title: "then" }, { title: "taken" }];
  expect((await post(rows)).status).toBe(409);
  expect((await post(rows.slice(0, 1))).status).toBe(201);
});

test("concurrent batches with duplicate values are created completely or not at all", async () => {
  const titles = many(50, (index) => ({ title: `race ${index}` }));
  const responses = await Promise.all(many(4, () => post(titles)));
  expect(responses.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409]);
});

test("a batch with an Idempotency-Key happens once, and a rejected batch stores nothing", async () => {
  const send = (key: string, json: unknown) =>
    service.call(app, LIST, { method: "POST", json, headers: { "idempotency-key": key } });
  const [short, long, fixed] = [1, 2, 3].map(() => crypto.randomUUID()) as [string, string, string];
  const rows = [{ title: `a ${short}` }, { title: `b ${short}` }];
  const [first, second] = [await send(short, rows), await send(short, rows)];
  const replayed = "idempotency-replayed";
  expect([second.status, second.text]).toEqual([201, first.text]);
  expect([first, second].map(({ headers }) => headers.get(replayed))).toEqual([null, "true"]);
  expect((await send(short, [rows[0]])).json).toMatchObject({ error: "idempotency_mismatch" });

  const large = many(200, (index) => ({ title: `${index} ${long}` }));
  const [whole, minimal] = [await send(long, large), await send(long, large)];
  expect(rowsOf(minimal)).toEqual(rowsOf(whole).map(({ id }) => ({ id })));
  expect(minimal.headers.get("preference-applied")).toBe("return=minimal");

  expect((await send(fixed, [{ title: "taken" }])).status).toBe(409);
  const mended = await send(fixed, [{ title: fixed }]);
  expect([mended.status, mended.headers.get(replayed)]).toEqual([201, null]);
});

test("a batch accepts a newly pushed column, and drops an unknown field of a row", async () => {
  const own = await service.makeApp(defineSchema({ growing: { a: t.number() } }));
  const path = "/v1/data/db/growing";
  await service.call(own, path, { method: "POST", json: [{ a: 1 }] });
  await service.pushSchema(own, defineSchema({ growing: { a: t.number(), b: t.number() } }));
  const created = await service.call(own, path, {
    method: "POST",
    json: [{ a: 1 }, { b: 2, c: 3 }],
  });
  expect(rowsOf(created)).toMatchObject([
    { a: 1, b: null },
    { a: null, b: 2 },
  ]);
});

test("a batch creates rows in a table without columns", async () => {
  const own = await service.makeApp(defineSchema({ marks: {} }));
  const created = await service.call(own, "/v1/data/db/marks", { method: "POST", json: [{}, {}] });
  expect(rowsOf(created).map((row) => Object.keys(row))).toEqual(many(2, () => ["id", "app_id"]));
});
