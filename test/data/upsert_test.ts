/** Upserts: `POST` with `onConflict`. */

import { describe, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import type { Scope } from "../../src/principal.ts";
import { issueKey, setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import { type Call, openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  places: { name: t.string() },
  things: t
    .model({
      text: t.string().unique(),
      url: t.string().unique(),
      whole: t.integer().unique(),
      uid: t.uuid().unique(),
      place: t.ref("places").unique(),
      at: t.timestamp().unique(),
      day: t.date().unique(),
      flag: t.boolean().unique(),
      label: t.enum(["a", "b", "c"]).unique(),
      price: t.number().unique(),
      amount: t.decimal().unique(),
      team: t.string(),
      place_no: t.integer(),
      note: t.json(),
      count: t.integer().required().default(7),
      changed_at: t.timestamp().default("now").onUpdate("now"),
    })
    .unique("team", "place_no")
    .unique("place_no", "amount", "label"),
});
const THINGS = "/v1/data/db/things";
const MISSING = "01a1fcb7-79f1-7334-aac2-0153dae4732a";
type Row = Record<string, unknown> & { id: string };
type Upserted = { rows: Row[]; results: string[] };

let places: string[] = [];
const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const app = await service.makeApp(schema);
const { json } = await service.call(app, "/v1/data/db/places", {
  method: "POST",
  json: [{ name: "a" }, { name: "b" }],
});
places = (json as { rows: Row[] }).rows.map(({ id }) => id);

const upsert = (query: string, json: unknown, call: Call = {}) =>
  service.call(app, `${THINGS}?${query}`, { method: "POST", json, ...call });
const resultsOf = ({ json }: { json: unknown }) => (json as Upserted).results;
const countRows = async (as = app) =>
  ((await service.call(as, THINGS)).json as { rows: Row[] }).rows.length;
async function readTexts(text: string, values: string[]): Promise<string[]> {
  const call = { retry: "safe", queue: SERVICE_QUEUE } as const;
  const rows = await service.service.admin.query<{ text: string }>(text, values, call);
  return rows.map((row) => row.text);
}

/** Two values of each unique column, and another notation of the first value. */
const VALUES: Readonly<Record<string, () => readonly unknown[]>> = {
  text: () => ["a", "b"],
  url: () => ["x".repeat(3000), `${"x".repeat(2999)}y`],
  whole: () => [1, 2],
  uid: () => [
    "01900000-0000-7000-8000-00000000000a",
    "01900000-0000-7000-8000-000000000001",
    "01900000-0000-7000-8000-00000000000A",
  ],
  place: () => places,
  at: () => ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-01T02:00:00+02:00"],
  day: () => ["2026-01-01", "2026-01-02"],
  flag: () => [true, false],
  label: () => ["a", "b"],
  price: () => [1.5, -2],
  amount: () => ["1.5", "-1.50", "1.50"],
};

test("the references of an ignored row are not checked", async () => {
  const row = { text: "ignored", place: MISSING };
  const first = await upsert("onConflict=text", row);
  expect(first).toMatchObject({ status: 422, json: { details: [{ path: "/place" }] } });
  await upsert("onConflict=text", { text: row.text });
  expect(await upsert("onConflict=text", row)).toMatchObject({ status: 422 });
  const ignored = await upsert("onConflict=text&existing=ignore", row);
  expect(ignored).toMatchObject({ status: 200, json: { text: row.text, place: null } });
});

describe.each(Object.keys(VALUES))("by %s", (column) => {
  test("creates, updates, leaves and ignores rows", async () => {
    const [first, second, alias = first] = VALUES[column]?.() ?? [];
    const query = `onConflict=${column}`;
    const made = await upsert(query, { [column]: first, count: 1 });
    expect(made.status).toBe(201);
    const row = made.json as Row;
    expect(row["count"]).toBe(1);
    const { status, json } = await upsert(query, [
      { [column]: second, note: [1] },
      { [column]: alias, note: { a: 1 } },
      { [column]: null },
    ]);
    expect({ status, json }).toMatchObject({
      status: 200,
      json: { results: ["created", "updated", "created"] },
    });
    const { rows } = json as Upserted;
    expect(rows.map(({ count }) => count)).toEqual([7, 1, 7]);
    expect(rows[1]).toMatchObject({ id: row.id, note: { a: 1 } });
    const same = await upsert(query, { [column]: alias, count: 1 });
    expect(same.status).toBe(200);
    expect(same.json).toEqual(rows[1] as Row);
    const ignored = await upsert(`${query}&existing=ignore`, [
      { [column]: first, count: 9 },
      { [column]: second, count: 9 },
    ]);
    expect(ignored.json).toMatchObject({
      rows: [{ count: 1 }, { count: 7 }],
      results: ["ignored", "ignored"],
    });
    const rowCount = await countRows();
    const only = await upsert(`${query}&existing=only`, [
      { [column]: null, count: 1 },
      { [column]: second, count: 5 },
      { [column]: alias, count: 1 },
    ]);
    expect(only).toMatchObject({
      status: 200,
      json: { rows: [{ count: 5 }, { id: row.id }], results: ["missing", "updated", "unchanged"] },
    });
    const one = await upsert(`${query}&existing=only`, { [column]: alias, count: 2 });
    expect(one).toMatchObject({ status: 200, json: { id: row.id, count: 2 } });
    expect(await countRows()).toBe(rowCount);
    const repeated = await upsert(query, [{ [column]: first }, {}, { [column]: alias }]);
    expect(repeated).toMatchObject({
      status: 422,
      json: { details: [{ path: `/0/${column}` }, { path: `/2/${column}` }] },
    });
  });
});

test("an update of rows that exist only requires the columns that find them, and leaves no trace of others", async () => {
  const own = await service.makeApp(
    defineSchema({
      parts: t
        .model({ sku: t.string().unique(), name: t.string().required(), no: t.integer().unique() })
        .unique("sku", "no"),
    }),
  );
  const send = (query: string, json: unknown, headers = {}) =>
    service.call(own, `/v1/data/db/parts?${query}`, { method: "POST", json, headers });
  const only = "onConflict=sku&existing=only";
  const key = { "idempotency-key": "later" };
  expect(await send(only, { sku: "a" }, key)).toMatchObject({ status: 404 });
  const made = await send("onConflict=sku", [
    { sku: "a", name: "A", no: 1 },
    { sku: "b", name: "B", no: 2 },
  ]);
  const [first] = (made.json as Upserted).rows;
  // Nothing was written, so the key is free.
  const sent = await send(only, { sku: "a", name: "AA" }, key);
  expect(sent).toMatchObject({ status: 200, json: { id: first?.id, name: "AA", no: 1 } });
  expect(sent.headers.get("etag")).not.toBeNull();
  expect(
    (await send(only, { sku: "a", name: "AA" }, key)).headers.get("idempotency-replayed"),
  ).toBe("true");
  const list = [{ sku: "x", no: 2 }, { sku: "b" }, { sku: "a", no: 3 }];
  const again = { "idempotency-key": "list" };
  const stored = await send(only, list, again);
  expect(stored.json).toMatchObject({
    rows: [
      { sku: "b", name: "B" },
      { sku: "a", no: 3 },
    ],
    results: ["missing", "unchanged", "updated"],
  });
  expect((await send(only, list, again)).text).toBe(stored.text);
  for (const [json, details] of [
    [{ name: "x" }, [{ path: "/sku" }]],
    [
      [{ sku: "a" }, { name: null }],
      [{ path: "/1/name" }, { path: "/1/sku" }],
    ],
    [
      [{ sku: "a", no: 4 }, { sku: "a" }],
      [{ path: "/0/sku" }, { path: "/1/sku" }],
    ],
  ] as const)
    expect(await send(only, json)).toMatchObject({ status: 422, json: { details } });
  const taken = await send(only, [
    { sku: "a", no: 5 },
    { sku: "b", no: 5 },
  ]);
  expect(taken).toMatchObject({ status: 409, json: { details: [{ path: "/1/no" }] } });
  const rows = (await service.call(own, "/v1/data/db/parts")).json as { rows: Row[] };
  expect(rows.rows.map(({ name, no }) => [name, no])).toEqual([
    ["AA", 3],
    ["B", 2],
  ]);
});

testUnlessCitus("locks a row by hand on one server")(
  "an update of rows that exist only finds them again after it waited for a lock",
  async () => {
    const query = "onConflict=text&existing=only";
    const { json } = await upsert("onConflict=text", [
      { text: "moved", count: 1 },
      { text: "other", count: 1 },
    ]);
    const [moved, other] = (json as Upserted).rows;
    const ids = [moved?.id ?? "", other?.id ?? ""] as const;
    const block = { text: "select from data.things where id = $1 for update", values: [ids[0]] };
    const waiting = await whileDone(service.database.adminUrl, block, async (session) => {
      const sent = upsert(query, [
        { text: "moved", count: 2 },
        { text: "gone", count: 2 },
      ]);
      await eventually(async () => (await countLockWaits(service.service.admin)) > 0, {
        describe: () => "the wait for the lock",
      });
      await session.unsafe("update data.things set text = 'gone' where id = $1", [ids[0]]);
      await session.unsafe("update data.things set text = 'moved' where id = $1", [ids[1]]);
      return { sent };
    });
    // A row has taken the place of the one that was locked first.
    expect((await waiting.sent).json).toMatchObject({
      rows: [
        { id: ids[1], count: 2 },
        { id: ids[0], count: 2 },
      ],
      results: ["updated", "updated"],
    });
  },
);

test("an unchanged row keeps its tag; a change sets its time", async () => {
  const query = "onConflict=text";
  const first = await upsert(query, { text: "times", count: 1 });
  const same = await upsert(query, { text: "times", count: 1 });
  expect(same.status).toBe(200);
  expect(same.text).toBe(first.text);
  expect(same.headers.get("etag")).toBe(first.headers.get("etag"));
  expect(first.headers.get("location")).toBe(`${THINGS}/${(first.json as Row).id}`);
  expect(same.headers.get("location")).toBeNull();
  const xmin = () =>
    readTexts("select xmin::text as text from data.things where id = $1", [(first.json as Row).id]);
  const before = await xmin();
  await upsert(query, [{ text: "times" }, { text: "times again" }]);
  await upsert(`${query}&existing=ignore`, { text: "times", count: 5 });
  expect(await xmin()).toEqual(before);
  const changed = await upsert(query, { text: "times", count: 2 });
  expect((changed.json as Row)["changed_at"]).not.toEqual((first.json as Row)["changed_at"]);
  const time = "2026-01-01T00:00:00+00:00";
  const set = await upsert(query, { text: "times", count: 3, changed_at: time });
  expect((set.json as Row)["changed_at"]).toBe(time);
});

test("a violated rule names the column, in a list with its row", async () => {
  await upsert("onConflict=text", [{ text: "taken", whole: 900 }, { text: "mine" }]);
  const rows = await countRows();
  const broken = { text: "mine", whole: 900 };
  const conflict = "Must be unique: another row has this whole";
  expect(await upsert("onConflict=text", broken)).toMatchObject({
    status: 409,
    json: { error: "unique_violation", details: [{ path: "/whole", message: conflict }] },
  });
  expect(await upsert("onConflict=text", [{ text: "new" }, broken, {}])).toMatchObject({
    status: 409,
    json: { details: [{ path: "/1/whole", message: conflict }] },
  });
  expect(await upsert("onConflict=text", [{ text: "new" }, { place: THINGS_ID }])).toMatchObject({
    status: 422,
    json: { details: [{ path: "/1/place" }] },
  });
  expect(await upsert("onConflict=text", [{ count: null }, { whole: "x", at: 1 }])).toMatchObject({
    status: 422,
    json: { details: [{ path: "/0/count" }, { path: "/1/whole" }, { path: "/1/at" }] },
  });
  expect(await countRows()).toBe(rows);
});
const THINGS_ID = "01900000-0000-7000-8000-0000000000ff";

test.each([
  ["onConflict=count", "invalid_query"],
  ["onConflict=id", "invalid_query"],
  ["onConflict=", "invalid_query"],
  ["onConflict=text,text", "invalid_query"],
  ["onConflict=text,whole", "invalid_query"],
  ["onConflict=text&onConflict=text", "invalid_query"],
  ["onConflict=text&existing=replace", "invalid_query"],
  ["existing=ignore", "invalid_query"],
  ["onConflict=text&limit=1", "unsupported_query"],
])("rejects ?%s", async (query, error) => {
  const rows = await countRows();
  const { status, json } = await upsert(query, { text: "rejected" });
  expect({ status, json }).toMatchObject({ status: 400, json: { error } });
  expect(await countRows()).toBe(rows);
});

test("a query without parameters is a create; a table without columns has no constraint", async () => {
  expect((await upsert("&", [{}])).status).toBe(201);
  const own = await service.makeApp(defineSchema({ marks: {} }));
  const marks = "/v1/data/db/marks";
  const made = await service.call(own, marks, { method: "POST", json: [{}] });
  expect(made.status).toBe(201);
  const { json } = await service.call(own, `${marks}?onConflict=id`, { method: "POST", json: {} });
  expect(json).toMatchObject({ error: "invalid_query" });
});

test("lists the unique constraints, and rejects If-Match", async () => {
  const { json } = await upsert("onConflict=count", {});
  expect((json as { message: string }).message).toContain(
    "text or url or whole or uid or place or at or day or flag or label or price or amount or place_no,amount,label or team,place_no",
  );
  const headers = { "if-match": "*" };
  const matched = await upsert("onConflict=text", { text: "matched" }, { headers });
  expect(matched).toMatchObject({ status: 400, json: { error: "invalid_precondition" } });
});

test.each<[Scope, number]>([
  ["data:read", 403],
  ["data:write", 403],
])("a key with only %s cannot upsert", async (scope, status) => {
  await upsert("onConflict=text", { text: "secret", count: 1 });
  const key = await issueKey(testDeps(service.service), {
    slug: app.slug,
    name: scope,
    scopes: [scope],
    expiresAt: undefined,
  });
  service.secrets.add(key.text);
  for (const existing of ["update", "ignore", "only"]) {
    const query = `onConflict=text&existing=${existing}`;
    const tried = await upsert(query, { text: "secret", count: 2 }, { key: key.text });
    expect(tried.status).toBe(status);
    expect(tried.text).not.toContain("secret");
  }
  const found = await upsert("onConflict=text&existing=ignore", { text: "secret" });
  expect(found.json).toMatchObject({ count: 1 });
});

test("rows of other apps with the same values remain", async () => {
  const other = await service.makeApp(schema);
  await service.call(other, THINGS, { method: "POST", json: { text: "shared", count: 1 } });
  const [before] = ((await service.call(other, THINGS)).json as { rows: Row[] }).rows;
  expect((await upsert("onConflict=text", { text: "shared", count: 2 })).status).toBe(201);
  expect(resultsOf(await upsert("onConflict=text", [{ text: "shared", count: 3 }]))).toEqual([
    "updated",
  ]);
  expect(((await service.call(other, THINGS)).json as { rows: Row[] }).rows).toEqual([
    before as Row,
  ]);
});

test("an idempotency key replays the response, its status and its results", async () => {
  const send = (key: string, query: string, json: unknown) =>
    upsert(query, json, { headers: { "idempotency-key": key } });
  const comparable = ({ status, text, headers }: Awaited<ReturnType<typeof send>>) => ({
    ...{ status, text, etag: headers.get("etag"), location: headers.get("location") },
  });
  for (const json of [{ text: "once", count: 1 }, { text: "once", count: 2 }, [{ text: "once" }]]) {
    const key = crypto.randomUUID();
    const first = await send(key, "onConflict=text", json);
    await upsert("onConflict=text", { text: "once", count: 100 });
    const again = await send(key, "onConflict=text", json);
    expect(comparable(again)).toEqual(comparable(first));
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    for (const query of [
      "onConflict=whole",
      "onConflict=text&existing=ignore",
      "onConflict=text&existing=only",
    ])
      expect((await send(key, query, json)).status).toBe(422);
  }
  const url = "u".repeat(20_000);
  const large = [{ text: "large", url }, { text: "small" }];
  for (const json of [large, { text: "large", url }]) {
    const key = crypto.randomUUID();
    const first = await send(key, "onConflict=text", json);
    const again = await send(key, "onConflict=text", json);
    expect(again.status).toBe(first.status);
    expect(again.headers.get("preference-applied")).toBe("return=minimal");
    const rows = "rows" in (first.json as object) ? (first.json as Upserted).rows : [first.json];
    const ids = (rows as Row[]).map(({ id }) => ({ id }));
    const short = Array.isArray(json) ? { rows: ids, results: resultsOf(first) } : ids[0];
    expect(again.json).toEqual(short as object);
  }
});

testUnlessCitus("no app of a cluster is live")(
  "records the changes of a live app, of written rows only",
  async () => {
    const live = await service.makeApp(schema);
    await setAppSwitch(service.service, live.slug, ["live", true]);
    const send = async (json: unknown, query = "onConflict=text") =>
      (await service.call(live, `${THINGS}?${query}`, { method: "POST", json })).json as Upserted;
    const { rows } = await send([{ text: "a" }, { text: "b" }, { text: "c" }]);
    await send([{ text: "a", count: 8 }, { text: "b" }, { text: "d" }]);
    const { results } = await send([{ text: "a", count: 9 }], "onConflict=text&existing=ignore");
    expect(results).toEqual(["ignored"]);
    await send([{ text: "b", count: 2 }, { text: "none" }], "onConflict=text&existing=only");
    const recorded = await readTexts(
      "select row_id::text as text from rowhouse.changes where app_id = $1 and row_id is not null",
      [live.id],
    );
    const [a = "", b = "", c = ""] = rows.map(({ id }) => id);
    expect(recorded).toHaveLength(6);
    expect(recorded.filter((id) => id === a)).toHaveLength(2);
    expect(recorded.filter((id) => id === b)).toHaveLength(2);
    expect(recorded.filter((id) => id === c)).toHaveLength(1);
  },
);

test("upserts of one row at once lose no field and store it once", async () => {
  const fields = Array.from({ length: 100 }, (_, n) => [
    { whole: 10_000 },
    { price: 10_000 + n },
    { team: `team ${n}` },
    { amount: `1${n}.5` },
    { note: { n } },
  ]).flat();
  const sent: Awaited<ReturnType<typeof upsert>>[] = [];
  // Not more at once than the service queues.
  for (const [turn, part] of Object.entries(
    Array.from({ length: 10 }, (_, n) => fields.slice(n * 50, n * 50 + 50)),
  )) {
    const rows = part.map((values) => ({ text: "raced", ...values }));
    const send = (row: object, n: number) =>
      upsert("onConflict=text", (n + Number(turn)) % 3 === 0 ? [row] : row);
    sent.push(...(await Promise.all(rows.map(send))));
  }
  expect(sent.map(({ status }) => status).filter((status) => status > 201)).toEqual([]);
  const created = sent.filter(
    (one) => one.status === 201 || resultsOf(one)?.includes("created") === true,
  );
  expect(created).toHaveLength(1);
  const { json } = await upsert("onConflict=text&existing=ignore", { text: "raced" });
  for (const name of ["whole", "price", "team", "amount", "note"])
    expect((json as Row)[name]).not.toBeNull();
});

test("lists in opposite order store each row once, and do not deadlock on rows that exist", async () => {
  const texts = Array.from({ length: 60 }, (_, n) => `list ${n}`);
  const rows = (order: string[], count: number) => order.map((text) => ({ text, count }));
  const deadlocks = () =>
    readTexts(
      "select deadlocks::text as text from pg_stat_database where datname = current_database()",
      [],
    );
  const sendAll = async () => {
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, n) => [
        upsert("onConflict=text", rows(n % 2 ? texts : texts.toReversed(), n)),
        ...(n % 5 === 0 ? [upsert("onConflict=text", { text: "list 30", count: n })] : []),
      ]).flat(),
    );
    expect(sent.map(({ status }) => status).filter((status) => status > 201)).toEqual([]);
    return sent.flatMap((one) => resultsOf(one) ?? []).filter((one) => one === "created").length;
  };
  // A row that another write creates after a list has locked the rows that it found can cause a deadlock, which is repeated.
  expect(await sendAll()).toBeLessThanOrEqual(60);
  const before = await deadlocks();
  expect(await sendAll()).toBe(0);
  expect(await deadlocks()).toEqual(before);
});

test("a default can contain every mark of the terms", async () => {
  const texts = [
    'a, "$hole" %s %1$s',
    "$terms$terms$",
    "$terms$",
    "$writes$",
    "$terms",
    'terms$ "$who"',
  ];
  const marked = await service.makeApp(
    defineSchema({
      texts_with_marks: t.model({
        code: t.string().unique(),
        ...Object.fromEntries(texts.map((text, n) => [`text${n}`, t.string().default(text)])),
      }),
    }),
  );
  const { status, json } = await service.call(
    marked,
    "/v1/data/db/texts_with_marks?onConflict=code",
    {
      method: "POST",
      json: [{ code: "a" }],
    },
  );
  expect([status, (json as Upserted).rows]).toMatchObject([
    200,
    [Object.fromEntries(texts.map((text, n) => [`text${n}`, text]))],
  ]);
});

test("a change of rows does not store their other values again", async () => {
  const note = Array.from({ length: 700 }, () => crypto.randomUUID()).join("");
  const texts = ["of a large row", "of another one"];
  const made = await upsert(
    "onConflict=text",
    texts.map((text) => ({ text, note })),
  );
  expect(made.status).toBe(200);
  const readSize = async () =>
    Number((await readTexts("select pg_total_relation_size('data.things')::text as text", []))[0]);
  for (const changed of [texts.slice(1), texts]) {
    const before = await readSize();
    for (let count = 0; count < 10; count++) {
      const rows = changed.map((text) => ({ text, count: count + changed.length * 100 }));
      const { json } = await upsert("onConflict=text&existing=only", rows);
      expect(json).toMatchObject({
        rows: rows.map((row) => ({ ...row, note })),
        results: changed.map(() => "updated"),
      });
    }
    expect((await readSize()) - before).toBeLessThan(4 * note.length);
  }
});
