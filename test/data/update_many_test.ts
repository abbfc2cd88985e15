/** Updates of several rows by id: all rows or none, in the order of the request. @module */

import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient, etagOf } from "../../src/sdk/data.ts";
import { withDatabase } from "../support/cluster.ts";
import { openTestService } from "../support/service.ts";
import { previewsOfRun } from "../support/shape.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const LIST = "/v1/data/db/todos";
const MISSING = "00000000-0000-7000-8000-000000000000";
const schema = defineSchema({
  projects: { name: t.string().required() },
  todos: {
    title: t.string().required().unique(),
    note: t.string().default("n"),
    tag: t.string(),
    price: t.decimal(),
    extra: t.json(),
    kind: t.enum(["a", "b"]).required().default("b"),
    project: t.ref("projects", { onDelete: "cascade" }),
    changed_at: t.timestamp().default("now").onUpdate("now"),
  },
});

type Row = { id: string; title: string; note: string | null; changed_at: string };
const service = await share(openTestService());
const [app, other] = [await service.makeApp(schema), await service.makeApp(schema)];

const patch = (json: unknown, headers: Record<string, string> = {}, by = app) =>
  service.call(by, LIST, { method: "PATCH", json, headers });
const get = async (id: string) => {
  const { json, headers } = await service.call(app, `${LIST}/${id}`);
  return { row: json as Row, tag: headers.get("etag") ?? "" };
};
async function make(count: number): Promise<Row[]> {
  const json = Array.from({ length: count }, () => ({ title: crypto.randomUUID() }));
  const created = await service.call(app, LIST, { method: "POST", json });
  return (created.json as { rows: Row[] }).rows;
}

test("rows are updated in the order of the request, like single updates", async () => {
  const rows = await make(4);
  const [one, two, three, four] = rows.map(({ id }) => id);
  const reversed = [
    { id: four, note: null, price: "1.50" },
    { id: three?.toUpperCase(), extra: { deep: [1.5, "x"] }, app_id: MISSING, unknown: 1 },
    { id: one },
    { id: two, title: rows[1]?.title, note: "n" },
  ];
  const { status, json } = await patch(reversed);
  expect(status).toBe(200);
  const updated = (json as { rows: Row[] }).rows;
  expect(updated.map(({ id }) => id)).toEqual([four, three, one, two] as string[]);
  for (const row of updated) expect((await get(row.id)).row).toEqual(row);
  expect(updated[0]).toMatchObject({ note: null, price: "1.50", title: rows[3]?.title });
  expect(updated[1]).toMatchObject({ extra: { deep: [1.5, "x"] } });
  // A changed row has a new time; a row without a change is not written.
  expect(updated[0]?.changed_at).not.toBe(rows[3]?.changed_at);
  expect(updated[2]).toEqual(rows[0] as Row);
  expect(updated[3]).toEqual(rows[1] as Row);
});

test("all issues of a list are reported at once, and nothing is written", async () => {
  const [one, two] = await make(2);
  const before = await get(one?.id ?? "");
  const { status, json } = await patch(
    [
      { id: one?.id, note: "changed" },
      { note: "without an id" },
      { id: "x", title: 1 },
      { id: two?.id.toUpperCase(), kind: "c" },
      { id: two?.id, ifMatch: "unquoted" },
      { id: MISSING, titel: 1, ifMatch: 1 },
    ],
    { prefer: "handling=strict" },
  );
  expect(status).toBe(422);
  const { error, details } = json as { error: string; details: { path: string }[] };
  expect(error).toBe("validation_failed");
  expect(details.map(({ path }) => path).sort()).toEqual([
    ...["/1/id", "/2/id", "/2/title", "/3/id", "/3/kind", "/4/id", "/4/ifMatch", "/5/ifMatch"],
    ...["/5/titel"],
  ]);
  expect(await get(one?.id ?? "")).toEqual(before);
});

test("a row that is missing or has changed undoes the list, with its position", async () => {
  const [one, two, three] = await make(3);
  const theirs = await service.call(other, LIST, { method: "POST", json: { title: "theirs" } });
  const foreign = (theirs.json as Row).id;
  const seen = await get(two?.id ?? "");
  await service.call(app, `${LIST}/${two?.id}`, { method: "PATCH", json: { note: "newer" } });
  const current = await get(three?.id ?? "");
  const list = [
    { id: one?.id, note: "changed" },
    { id: two?.id, note: "changed", ifMatch: seen.tag },
    { id: foreign, note: "changed" },
    { id: three?.id, note: "changed", ifMatch: `"other", ${current.tag}` },
    { id: MISSING, note: "changed", ifMatch: "*" },
  ];
  const paths = async (json: unknown) => {
    const response = await patch(json, { "idempotency-key": "a failed list stores no key" });
    const { details = [], error } = response.json as {
      error: string;
      details?: { path: string }[];
    };
    return [response.status, error, ...details.map(({ path }) => path)];
  };
  expect(await paths(list)).toEqual([404, "not_found", "/1/ifMatch", "/2/id", "/4/id"]);
  const there = list.filter(({ id }) => id !== foreign && id !== MISSING);
  expect(await paths(there)).toEqual([412, "precondition_failed", "/1/ifMatch"]);
  expect((await get(one?.id ?? "")).row.note).toBe("n");
  const fresh = there.map((row) => (row.id === two?.id ? { ...row, ifMatch: "*" } : row));
  expect(await paths(fresh)).toEqual([200, undefined as unknown as string]);
  expect((await get(three?.id ?? "")).row.note).toBe("changed");
  const of = await service.call(other, `${LIST}/${foreign}`);
  expect((of.json as Row).note).toBe("n");
});

test("If-Match, which names the state of one row, is not ignored", async () => {
  const [one] = await make(1);
  const { status, json } = await patch([{ id: one?.id, note: "lost" }], { "if-match": '"other"' });
  expect({ status, json }).toMatchObject({ status: 400, json: { error: "invalid_precondition" } });
  expect((await get(one?.id ?? "")).row.note).toBe("n");
});

test("a rule of the database names the row and its column", async () => {
  const [one, two, three] = await make(3);
  const taken = await patch([
    { id: three?.id, note: "changed" },
    { id: two?.id, title: one?.title },
  ]);
  expect(taken.json).toMatchObject({ error: "unique_violation", details: [{ path: "/1/title" }] });
  const dangling = await patch([
    { id: three?.id, note: "changed" },
    { id: one?.id, project: MISSING },
  ]);
  expect(dangling.json).toMatchObject({
    error: "validation_failed",
    details: [{ path: "/1/project" }],
  });
  expect((await get(three?.id ?? "")).row.note).toBe("n");
});

test.each([
  { name: "the older row first", first: 0 },
  { name: "the newer row first", first: 1 },
])(
  "a row takes the unique value that an earlier row of the list gives up: $name",
  async ({ first }) => {
    const rows = await make(2);
    const [giver, taker] = first === 0 ? rows : rows.toReversed();
    const given = { id: giver?.id, title: crypto.randomUUID() };
    const taken = { id: taker?.id, title: giver?.title };
    expect(await patch([taken, given])).toMatchObject({
      status: 409,
      json: { details: [{ path: "/0/title" }] },
    });
    expect((await patch([given, taken])).json).toMatchObject({ rows: [given, taken] });
  },
);

test("two rows that swap a unique value are a conflict", async () => {
  const [one, two] = await make(2);
  const swapped = await patch([
    { id: one?.id, title: two?.title },
    { id: two?.id, title: one?.title },
  ]);
  expect(swapped).toMatchObject({ status: 409, json: { details: [{ path: "/0/title" }] } });
  expect((await get(one?.id ?? "")).row.title).toBe(one?.title ?? "");
});

test.each([
  ["no row", []],
  ["an object", {}],
  ["a number", [1]],
  ["null", [null]],
  ["too many rows", Array(1001).fill({ id: MISSING })],
])("%s is no list of rows", async (_, json) => {
  // With conditions, an object is the change of every row that meets them.
  const isChange = !Array.isArray(json) && previewsOfRun().includes("filters");
  const error = isChange ? "invalid_query" : "invalid_json";
  expect((await patch(json)).json).toMatchObject({ error });
});

test("a list of one row is written like a longer one", async () => {
  const [one, other] = await make(2);
  const { id = "", title } = one ?? {};
  const readVersion = () =>
    service.query("select xmin::text as version from data.todos where id = $1", [id]);
  const before = await readVersion();
  expect((await patch([{ id, title, note: "n" }])).json).toEqual({ rows: [one] });
  expect(await readVersion()).toEqual(before);
  const changed = await patch([{ id, note: "changed" }]);
  expect(changed.json).toEqual({ rows: [(await get(id)).row] });
  expect(changed.json).toMatchObject({ rows: [{ note: "changed" }] });
  const issues = [
    { body: { id, title: other?.title }, status: 409, path: "/0/title" },
    { body: { id, project: MISSING }, status: 422, path: "/0/project" },
    { body: { id: MISSING, note: "x" }, status: 404, path: "/0/id" },
  ];
  for (const { body, status, path } of issues)
    expect(await patch([body])).toMatchObject({ status, json: { details: [{ path }] } });
});

test("a repeated key gets the first response", async () => {
  const [one] = await make(1);
  const send = (note: string) => patch([{ id: one?.id, note }], { "idempotency-key": "k1" });
  const first = await send("first");
  await service.call(app, `${LIST}/${one?.id}`, { method: "PATCH", json: { note: "second" } });
  const again = await send("first");
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
  expect(again.text).toBe(first.text);
  expect((await send("other")).json).toMatchObject({ error: "idempotency_mismatch" });
  expect((await get(one?.id ?? "")).row.note).toBe("second");
});

test("lists in opposite order wait for each other, and lose no field", async () => {
  const rows = await make(60);
  const lists = Array.from({ length: 12 }, (_, n) => {
    const list = rows.map(({ id }) => (n % 2 === 0 ? { id, note: `n${n}` } : { id, tag: `t${n}` }));
    return n % 3 === 0 ? list.toReversed() : n % 3 === 1 ? list : list.toSorted(() => (n % 5) - 2);
  });
  const done = await Promise.all(lists.map((list) => patch(list)));
  expect(done.map(({ status }) => status)).toEqual(lists.map(() => 200));
  const found = await Promise.all(rows.map(({ id }) => get(id)));
  const states = new Set(
    found.map(({ row }) => JSON.stringify([row.note, Reflect.get(row, "tag")])),
  );
  expect(states.size).toBe(1);
  expect([...states][0]).toMatch(/^\["n\d+","t\d+"\]$/);
});

testUnlessCitus("no app of a cluster is live")(
  "a live app gets the changed rows of a list, and only these",
  async () => {
    await using live = await openTestService({ service: { previews: ["live"] } });
    const own = await live.makeApp(schema);
    await setAppSwitch(live.service, own.slug, ["live", true]);
    const json = ["a", "b", "c"].map((title) => ({ title }));
    const created = await live.call(own, LIST, { method: "POST", json });
    const [a, b, c] = (created.json as { rows: Row[] }).rows.map(({ id }) => id);
    const changes = () =>
      withDatabase(live.database.adminUrl, (admin) =>
        readRows<{ row_id: string }>(admin, "select row_id from rowhouse.changes", []),
      );
    const before = (await changes()).length;
    const list = [
      { id: c, note: "x" },
      { id: b, note: "n" },
      { id: a, note: "y" },
    ];
    expect((await live.call(own, LIST, { method: "PATCH", json: list })).status).toBe(200);
    const after = (await changes()).map((row) => String(row["row_id"]));
    expect(after.length - before).toBe(2);
    expect(after.filter((id) => id === b)).toHaveLength(1);
  },
);

test("a list of rows that are too large together is rejected", async () => {
  const rows = await make(1000);
  await using small = await openTestService({ service: { maxResponseBytes: 65_536 } });
  const own = await small.makeApp(schema);
  const json = rows.slice(0, 400).map(({ title }) => ({ title }));
  const ids: string[] = [];
  for (let from = 0; from < json.length; from += 100) {
    const created = await small.call(own, LIST, {
      method: "POST",
      json: json.slice(from, from + 100),
    });
    ids.push(...(created.json as { rows: Row[] }).rows.map(({ id }) => id));
  }
  const updated = await small.call(own, LIST, {
    method: "PATCH",
    json: ids.map((id) => ({ id, note: "changed" })),
  });
  expect(updated.json).toMatchObject({ error: "body_too_large" });
  const first = await small.call(own, `${LIST}/${ids[0]}`);
  expect((first.json as Row).note).toBe("n");
});

test("the client updates any number of rows, and names the states it expects", async () => {
  const db = createDataClient({ baseUrl: service.url, apiKey: app.key, schema });
  const rows = await make(1000);
  const [seen] = rows;
  const calls: number[] = [];
  const updated = await db.todos.updateAll(
    [...rows, ...(await make(5))].map(({ id }, index) => ({ id, note: `${index}` })),
    { onStored: (stored) => calls.push(stored.length) },
  );
  expect(updated.map(({ note }) => note)).toEqual(updated.map((_, index) => `${index}`));
  expect(calls).toEqual([1000, 5]);
  const row = await db.todos.get(updated[0]?.id ?? ("" as never));
  const ifMatch = etagOf(row);
  await db.todos.updateAll([{ id: row.id, note: "again", ifMatch: row }]);
  const failed = db.todos.updateAll([{ id: row.id, note: "lost", ifMatch }]);
  expect(failed).rejects.toMatchObject({
    code: "precondition_failed",
    details: [{ path: "/0/ifMatch" }],
  });
  await failed.catch(() => undefined);
  expect((await get(seen?.id ?? "")).row.note).toBe("again");
});
