/** Updates and deletes with conditions. */
import { beforeAll, describe, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import type { Scope } from "../../src/principal.ts";
import { issueKey, setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient } from "../../src/sdk/data.ts";
import { testDeps } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import { makeRandom } from "../support/random.ts";
import { type Call, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  vendors: { name: t.string().required(), tier: t.integer() },
  projects: {
    name: t.string(),
    vendor: t.ref("vendors", { onDelete: "cascade" }),
    keeper: t.ref("vendors"),
  },
  todos: t.model({
    title: t.string().index(),
    rank: t.integer().index(),
    done: t.boolean(),
    amount: t.decimal(),
    state: t.enum(["new", "old"]).index(),
    tag: t.string().unique(),
    project: t.ref("projects", { onDelete: "set null" }),
    parent: t.ref("todos"),
    changed_at: t.timestamp().default("now").onUpdate("now"),
  }),
  empty: {},
});
const TODOS = "/v1/data/db/todos";
type Row = Record<string, unknown> & { id: string };
type Counted = { count: number; hasMore?: boolean; ids?: string[] };

const service = await share(openTestService({ service: { previews: ["filters", "live"] } }));
const app = await service.makeApp(schema);

const make = async (json: object[], { as = app, to = TODOS } = {}): Promise<Row[]> => {
  const made = await service.call(as, to, { method: "POST", json });
  expect(made.status).toBe(201);
  return (made.json as { rows: Row[] }).rows;
};
const list = async (query = "", { as = app, to = TODOS } = {}) =>
  ((await service.call(as, `${to}?${query}`)).json as { rows: Row[] }).rows;
const update = (query: string, json: unknown, call: Call = {}, as = app) =>
  service.call(as, `${TODOS}?${query}`, { method: "PATCH", json, ...call });
const remove = (query: string, call: Call = {}, { as = app, to = TODOS } = {}) =>
  service.call(as, `${to}?${query}`, { method: "DELETE", ...call });
const clear = async () => {
  while (((await remove("all=true&limit=1000")).json as Counted).hasMore === true);
};
const mark = () => crypto.randomUUID();
async function readTexts(text: string, values: string[]): Promise<string[]> {
  const call = { retry: "safe", queue: SERVICE_QUEUE } as const;
  const rows = await service.service.admin.query<{ text: string }>(text, values, call);
  return rows.map((row) => row.text);
}

test("a condition on many referenced rows uses another plan, and is compared again", async () => {
  const name = mark();
  const vendors = await make(
    Array.from({ length: 150 }, () => ({ name })),
    { to: "/v1/data/db/vendors" },
  );
  const projects = await make(
    vendors.map(({ id }) => ({ vendor: id, name })),
    { to: "/v1/data/db/projects" },
  );
  await make([...projects, ...projects].map(({ id }) => ({ project: id, title: name })));
  const query = `project.name=eq.${name}&title=eq.${name}`;
  expect((await update(query, { rank: 5 })).json).toEqual({ count: 300 });
  expect((await remove(`project.vendor.name=eq.${name}`)).json).toEqual({ count: 300 });
});

test.each([
  ["", "invalid_query", "?all=true"],
  ["dryRun=true", "invalid_query", "?all=true"],
  ["limit=5", "invalid_query", "?all=true"],
  ["all=false", "invalid_query", "?all=true"],
  ["all=true&rank=eq.1", "invalid_query", "all together"],
  ["all=yes", "invalid_query", "all"],
  ["all=true&all=true", "invalid_query", "twice"],
  ["all=true&dryRun=1", "invalid_query", "dryRun"],
  ["all=true&limit=0", "invalid_query", "limit"],
  ["all=true&limit=1001", "invalid_query", "limit"],
  ["all=true&limit=-1", "invalid_query", "limit"],
  ["nothing=eq.1", "invalid_query", "nothing"],
  ["rank=eq.x", "invalid_query", "rank"],
  ["rank=eq.1&order=rank", "invalid_query", "order"],
  ["rank=eq.1&onConflict=tag", "invalid_query", "onConflict"],
])("rejects ?%s", async (query, error, part) => {
  const before = await list();
  for (const { status, json } of [await update(query, { rank: 9 }), await remove(query)]) {
    expect({ status, json }).toMatchObject({ status: 400, json: { error } });
    expect((json as { message: string }).message).toContain(part);
  }
  expect(await list()).toEqual(before);
});

test("a body of unknown fields only is rejected, and names them", async () => {
  await clear();
  const [row] = await make([{ title: "a" }]);
  for (const query of ["title=eq.a", "all=true&limit=1", "title=eq.a&dryRun=true"]) {
    const { status, json } = await update(query, {
      titel: "b",
      __proto: 1,
      id: crypto.randomUUID(),
    });
    expect({ query, status, json }).toMatchObject({
      status: 422,
      json: {
        error: "validation_failed",
        details: [
          { path: "/titel", message: 'Is not a column; did you mean "title"?' },
          { path: "/__proto", message: "Is not a column" },
        ],
      },
    });
  }
  expect(await list()).toEqual([row as Row]);
  expect((await update("title=eq.a", { titel: "b", title: "c" })).json).toEqual({ count: 1 });
});

test("checks the body, the headers and a list together with conditions", async () => {
  await make([{ rank: 77 }]);
  const headers = { "if-match": "*" };
  for (const sent of [
    await update("rank=eq.77", { rank: 1 }, { headers }),
    await remove("rank=eq.77", { headers }),
  ])
    expect(sent).toMatchObject({ status: 400, json: { error: "invalid_precondition" } });
  expect(await update("rank=eq.77", [{ rank: 1 }])).toMatchObject({
    status: 400,
    json: { error: "invalid_query" },
  });
  expect(await update("rank=eq.77", "text")).toMatchObject({ status: 400 });
  expect(await update("rank=eq.77&dryRun=true", { rank: "x" })).toMatchObject({
    status: 422,
    json: { details: [{ path: "/rank" }] },
  });
  expect((await update("rank=eq.77", { rank: 77, other: 1, id: mark() })).json).toEqual({
    count: 1,
  });
  expect((await list("rank=eq.77")).length).toBe(1);
});

describe("limits", () => {
  let large: TestApp;
  const count = async () =>
    ((await remove("all=true&dryRun=true", {}, { as: large })).json as Counted).count;
  beforeAll(async () => {
    large = await service.makeApp(schema);
    for (let part = 0; part < 2; part++)
      await make(
        Array.from({ length: 1000 }, (_, n) => ({ rank: n % 10, title: "t" })),
        { as: large },
      );
  });
  const sendAll = async (query: string) => [
    await update(query, { title: "new" }, {}, large),
    await remove(query, {}, { as: large }),
  ];

  test("more than 1,000 rows without a limit are an error, and nothing is written", async () => {
    for (const query of ["all=true", "title=eq.t", "rank=gte.0"])
      for (const sent of await sendAll(query))
        expect(sent).toMatchObject({ status: 409, json: { error: "too_many_rows" } });
    expect(await count()).toBe(2000);
    expect(await list("title=neq.t", { as: large })).toEqual([]);
  });

  test("a dry run counts beyond 1,000 rows", async () => {
    const { json } = await update("title=eq.t&dryRun=true", { rank: 1 }, {}, large);
    const { count, ids = [] } = json as Counted;
    expect({ count, length: ids.length }).toEqual({ count: 2000, length: 20 });
    expect(ids).toEqual((await list("limit=20", { as: large })).map(({ id }) => id));
  });

  test("exactly 1,000 rows are written, and a limit takes the first by id", async () => {
    expect((await update("rank=lt.5", { title: "low" }, {}, large)).json).toEqual({ count: 1000 });
    const low = await list("title=eq.low&limit=1000", { as: large });
    const sent = await update("title=eq.low&limit=3", { title: "first" }, {}, large);
    expect(sent.json).toEqual({ count: 3, hasMore: true });
    const first = await list("title=eq.first", { as: large });
    expect(first.map(({ id }) => id)).toEqual(low.slice(0, 3).map(({ id }) => id));
  });

  test("all rows are deleted in steps", async () => {
    const steps: unknown[] = [];
    for (let step = 0; step < 3; step++)
      steps.push((await remove("all=true&limit=1000", {}, { as: large })).json);
    expect(steps).toEqual([
      { count: 1000, hasMore: true },
      { count: 1000, hasMore: false },
      { count: 0, hasMore: false },
    ]);
  });
});

test("rows that a walk does not reach are found, the first by id", async () => {
  await using few = await openTestService({ service: { previews: ["filters"] } });
  const narrow = await few.makeApp(schema);
  const rows = Array.from({ length: 60 }, (_, n) => ({ amount: `${n}`, rank: n, title: "t" }));
  await few.call(narrow, TODOS, { method: "POST", json: rows });
  const count = async (query: string) => {
    const { json } = await few.call(narrow, `${TODOS}?${query}&dryRun=true`, { method: "DELETE" });
    return (json as { count: number }).count;
  };
  for (const [query, counted] of [
    ["amount=gte.59", 1],
    ["title=eq.t&amount=gte.58", 2],
    ["amount=gte.55&limit=2", 2],
  ] as const)
    expect([query, await count(query)]).toEqual([query, counted]);
  const send = async (query: string) =>
    (await few.call(narrow, `${TODOS}?${query}`, { method: "DELETE" })).json;
  // The first rows are found without a visit of the others.
  expect(await send("title=eq.t&limit=2")).toEqual({ count: 2, hasMore: true });
  // The rows of an index are sorted if the first rows by id are too many.
  expect(await send("rank=gte.55&limit=2")).toEqual({ count: 2, hasMore: true });
  expect(await send("rank=gte.50")).toEqual({ count: 8 });
  expect(await send("all=true")).toEqual({ count: 48 });
});

test.each<Scope>(["data:read", "data:write"])("a key with only %s cannot", async (scope) => {
  await clear();
  const rows = await make([{ title: "secret", rank: 1 }]);
  const { text: key } = await issueKey(testDeps(service.service), {
    ...{ slug: app.slug, name: scope, scopes: [scope], expiresAt: undefined },
  });
  service.secrets.add(key);
  for (const query of [
    "title=eq.secret",
    "all=true",
    "title=eq.secret&dryRun=true",
    "nothing=eq.1",
  ])
    for (const sent of [
      await update(query, { title: "found" }, { key }),
      await remove(query, { key }),
    ]) {
      expect(sent).toMatchObject({ status: 403, json: { error: "forbidden" } });
      expect(sent.text).not.toContain(rows[0]?.id ?? "");
    }
  expect(await list()).toEqual(rows);
});

test.each([1, 2])("%d rows with the sent values are counted and not written", async (count) => {
  const title = mark();
  await make(Array.from({ length: count }, () => ({ title, rank: 1 })));
  const read = () =>
    readTexts("select xmin::text || changed_at as text from data.todos where title = $1", [title]);
  const before = await read();
  expect((await update(`title=eq.${title}`, { rank: 1 })).json).toEqual({ count });
  expect(await read()).toEqual(before);
  expect((await update(`title=eq.${title}`, { rank: 2 })).json).toEqual({ count });
  expect((await list(`title=eq.${title}`)).map(({ rank }) => rank)).toEqual(before.map(() => 2));
});

test("a read-only app is not written", async () => {
  const stopped = await service.makeApp(schema);
  await make([{ title: "kept" }], { as: stopped });
  await setAppSwitch(service.service, stopped.slug, ["read_only", true]);
  expect(await update("all=true", { title: "x" }, {}, stopped)).toMatchObject({
    status: 503,
    json: { error: "read_only" },
  });
  expect((await remove("all=true", {}, { as: stopped })).status).toBe(503);
  expect(await list("title=eq.kept", { as: stopped })).toHaveLength(1);
});

test("rows of other apps in the table remain", async () => {
  await clear();
  const other = await service.makeApp(schema);
  const theirs = await make([{ title: "same", rank: 1 }, { title: "other" }], { as: other });
  await make([{ title: "same", rank: 1 }, { title: "same" }]);
  const [row] = theirs;
  expect((await update("title=eq.same", { rank: 2 })).json).toEqual({ count: 2 });
  expect((await update(`id=eq.${row?.id}`, { rank: 2 })).json).toEqual({ count: 0 });
  expect((await remove(`id=in.(${row?.id})`)).json).toEqual({ count: 0 });
  expect((await remove(`parent.id=eq.${row?.id}`)).json).toEqual({ count: 0 });
  expect((await remove("all=true")).json).toEqual({ count: 2 });
  expect(await list("", { as: other })).toEqual(theirs);
});

test("a row that no longer matches once it is locked is not written", async () => {
  for (const send of [() => update("title=eq.open", { rank: 5 }), () => remove("title=eq.open")]) {
    await clear();
    const [first, second, third] = await make([
      { title: "open", rank: 1 },
      { title: "open", rank: 2 },
      { title: "closed", rank: 3 },
    ]);
    const change = {
      text: "update data.todos set title = 'closed' where id = $1",
      values: [first?.id ?? ""],
    };
    const sent = await whileDone(service.database.adminUrl, change, async () => {
      const sending = send();
      await eventually(async () => (await countLockWaits(service.service.admin)) > 0, {
        describe: () => "the wait for the lock",
      });
      return { sending };
    });
    expect((await sent.sending).json).toEqual({ count: 1 });
    const rows = await list();
    expect(rows.find(({ id }) => id === first?.id)).toMatchObject({ title: "closed", rank: 1 });
    expect(rows.find(({ id }) => id === third?.id)).toEqual(third as Row);
    expect(rows.find(({ id }) => id === second?.id)?.["rank"] ?? 5).toBe(5);
  }
});

test("writes of the same rows at once do not deadlock", async () => {
  await clear();
  await make(Array.from({ length: 60 }, (_, rank) => ({ rank, title: "all" })));
  const sent = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      update(n % 2 === 0 ? "rank=gte.0" : "title=eq.all", { done: n % 3 === 0 }),
    ),
  );
  expect(sent.map(({ json }) => json)).toEqual(sent.map(() => ({ count: 60 })));
});

test("rows that reference each other are deleted together, in any order of their ids", async () => {
  await clear();
  const rows = await make(Array.from({ length: 40 }, () => ({ title: "tree" })));
  const random = makeRandom(3);
  for (const [place, { id }] of rows.entries())
    if (place > 0)
      await service.call(app, `${TODOS}/${rows[random(2) ? place : random(place)]?.id}`, {
        method: "PATCH",
        json: { parent: rows[place - 1]?.id === id ? null : rows[place - 1]?.id },
      });
  const [last] = await make([{ title: "outside", parent: rows[0]?.id }]);
  expect((await remove("title=eq.tree")).status).toBe(409);
  expect(await list()).toHaveLength(41);
  await remove(`id=eq.${last?.id}`);
  expect((await remove("title=eq.tree")).json).toEqual({ count: 40 });
});

test("an idempotency key makes a repeat harmless", async () => {
  await clear();
  const send = (key: string, query: string) =>
    remove(query, { headers: { "idempotency-key": key } });
  await make([{ title: "gone" }]);
  const key = mark();
  expect((await send(key, "title=eq.gone&dryRun=true")).json).toMatchObject({ count: 1 });
  const first = await send(key, "title=eq.gone");
  expect(first.json).toEqual({ count: 1 });
  const since = await make([{ title: "gone" }]);
  const again = await send(key, "title=eq.gone");
  expect({ json: again.json, replayed: again.headers.get("idempotency-replayed") }).toEqual({
    json: { count: 1 },
    replayed: "true",
  });
  expect(await list()).toEqual(since);
  expect((await send(key, "title=neq.gone")).status).toBe(422);
  const patch = mark();
  const write = (json: object) =>
    update("title=eq.gone", json, { headers: { "idempotency-key": patch } });
  expect((await write({ rank: 1 })).json).toEqual({ count: 1 });
  await update("all=true", { rank: 2 });
  expect((await write({ rank: 1 })).json).toEqual({ count: 1 });
  expect((await write({ rank: 3 })).status).toBe(422);
  expect((await list())[0]?.["rank"]).toBe(2);
  // A failed write leaves no key.
  const failed = mark();
  await make([{ title: "child", parent: since[0]?.id }]);
  expect((await send(failed, "title=eq.gone")).status).toBe(409);
  await remove("title=eq.child");
  expect((await send(failed, "title=eq.gone")).json).toEqual({ count: 1 });
});

test("the client sends conditions with a key, and rejects an undefined value", async () => {
  await clear();
  const db = createDataClient({ baseUrl: service.url, apiKey: app.key, schema });
  await make([{ rank: 1, title: "a" }, { rank: 1 }, { rank: 2 }]);
  const dry = await db.todos.updateMany({ rank: 3 }, { where: { rank: 1 }, dryRun: true });
  expect([dry.count, dry.ids?.length]).toEqual([2, 2]);
  const where = { rank: { lt: 2 } };
  expect(await db.todos.updateMany({ rank: 3 }, { where, limit: 1 })).toEqual({
    count: 1,
    hasMore: true,
  });
  const keys = () =>
    readTexts("select count(*)::text as text from rowhouse.idempotency_keys where app_id = $1", [
      app.id,
    ]);
  const [before] = await keys();
  expect(await db.todos.deleteMany({ where: { title: "a" } })).toEqual({ count: 1 });
  expect(await keys()).toEqual([`${Number(before) + 1}`]);
  const broken = [{ title: undefined }, { rank: 1, or: [{ title: undefined }] }, {}] as never[];
  for (const wrong of broken) {
    const error = await db.todos.deleteMany({ where: wrong }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
  }
  expect(await list()).toHaveLength(2);
  expect(await db.todos.deleteMany({ all: true })).toEqual({ count: 2 });
});

test("records the changes of a live app, of written rows only", async () => {
  const live = await service.makeApp(schema);
  await setAppSwitch(service.service, live.slug, ["live", true]);
  const readChanges = () =>
    readTexts(
      "select concat_ws(' ', table_name, row_id) as text from rowhouse.changes where app_id = $1",
      [live.id],
    );
  const [a, b, c] = await make([{ rank: 1 }, { rank: 1 }, { rank: 2 }], { as: live });
  const [before, same] = [await readChanges(), await list("", { as: live })];
  expect((await update("rank=lte.2", { rank: 2 }, {}, live)).json).toEqual({ count: 3 });
  const added = (await readChanges()).slice(before.length);
  expect(added.toSorted()).toEqual([`todos ${a?.id}`, `todos ${b?.id}`].toSorted());
  const after = await list("", { as: live });
  expect(after[2]).toEqual(same[2] as Row);
  expect(after[0]?.["changed_at"]).not.toEqual(same[0]?.["changed_at"]);
  await update("all=true&dryRun=true", { rank: 9 }, {}, live);
  await remove("all=true&dryRun=true", {}, { as: live });
  await remove("all=true&limit=2", {}, { as: live });
  expect((await readChanges()).slice(before.length + 2).toSorted()).toEqual(
    [`todos ${a?.id}`, `todos ${b?.id}`].toSorted(),
  );
  expect(await list("", { as: live })).toEqual([after[2] as Row]);
  expect(c?.id).toBe(after[2]?.id ?? "");
});

test("a table without columns has rows to delete, and nothing to update", async () => {
  const to = "/v1/data/db/empty";
  await make([{}, {}], { to });
  const sent = await service.call(app, `${to}?all=true`, { method: "PATCH", json: {} });
  expect(sent.json).toEqual({ count: 2 });
  expect((await remove("all=true", {}, { to })).json).toEqual({ count: 2 });
});

test("without the preview, a table has no such requests", async () => {
  await using plain = await openTestService({ service: { previews: [] } });
  const old = await plain.makeApp(schema);
  await plain.call(old, TODOS, { method: "POST", json: { rank: 1 } });
  const headers = { authorization: `Bearer ${old.key}` };
  const deleted = await fetch(`${plain.url}${TODOS}?all=true`, { method: "DELETE", headers });
  expect(deleted.status).toBe(405);
  expect(deleted.headers.get("allow")).toBe("GET, HEAD, POST, PATCH, OPTIONS");
  const patch = (query: string) =>
    plain.call(old, `${TODOS}${query}`, { method: "PATCH", json: { rank: 2 } });
  expect(await patch("?all=true")).toMatchObject({ json: { error: "unsupported_query" } });
  expect(await patch("")).toMatchObject({ status: 400, json: { error: "invalid_json" } });
});
