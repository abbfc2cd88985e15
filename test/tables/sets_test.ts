/**
 * Column sets: an app sees the columns that it declares or has declared, through functions that apps with equal sets
 * share.
 */
import { describe, expect, test } from "bun:test";
import { runAction } from "../../src/records/actions/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { functionsAt } from "../../src/tables/catalog/mod.ts";
import { readDrift, refreshFunctions, sweepSets } from "../../src/tables/mod.ts";
import { cases } from "../support/cases.ts";
import { citusUrl } from "../support/citus.ts";
import { functionOf } from "../support/functions.ts";
import { freshName, postSchema } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());

const ENDPOINTS = functionsAt({
  dialect: citusUrl() === undefined ? "plain" : "citus",
}).toSorted();

const post = (json: object) => ({ method: "POST", json });
const run = (text: string) => service.service.admin.message(`${text}; select 1`);

/** Returns the functions of a table by name, each with the transaction that created it. */
async function readFunctions(table: string): Promise<Map<string, string>> {
  const rows = await service.query<{ name: string; xmin: string }>(
    "select proname as name, xmin::text from pg_proc where proname like $1 || '\\_\\_%' order by 1",
    [table.slice(0, 32)],
  );
  return new Map(rows.map(({ name, xmin }) => [name, xmin]));
}

/** Ages the column sets that an app no longer uses. */
const age = ({ id }: TestApp, seconds: number) =>
  run(
    `update rowhouse.column_sets set unused_since = unused_since - interval '${seconds} s' where app_id = '${id}'`,
  );

/** Divides the time since an app's column sets became unused by 1,000, as if its pushes were fast. */
const hurry = ({ id }: TestApp) =>
  run(
    `update rowhouse.column_sets set unused_since = now() - (now() - unused_since) / 1000 where app_id = '${id}'`,
  );

const TITLE = { title: t.string().required() };

test("an owner's new columns are missing from another app's responses, and the other app cannot write them", async () => {
  const name = freshName();
  const path = `/v1/data/db/${name}`;
  const [owner, other] = [await service.makeApp(), await service.makeApp()];
  for (const app of [owner, other]) await postSchema(service, app, defineSchema({ [name]: TITLE }));
  const created = await service.call(other, path, post({ title: "a" }));
  const before = await service.call(other, path);
  const added = Object.fromEntries(
    Array.from({ length: 8 }, (_, n) => [`c${n}`, t.string().required().default("x".repeat(20))]),
  );
  const grown = { ...TITLE, ...added, kind: t.enum(["a"]), price: t.decimal() };
  expect(await postSchema(service, owner, defineSchema({ [name]: grown }))).toMatchObject({
    json: { status: "applied" },
  });

  expect((await service.call(other, path)).text).toBe(before.text);
  expect(
    (
      await service.call(other, created.headers.get("location") ?? "", {
        method: "PATCH",
        json: { c0: 5, kind: "no value", price: 1 },
      })
    ).text,
  ).toBe(created.text);
  const more = await service.call(other, path, post({ title: "b", c0: 5, kind: 7 }));
  expect([more.status, Object.keys(more.json as object)]).toEqual([201, ["id", "app_id", "title"]]);
  const own = await service.call(owner, path, post({ title: "c" }));
  expect(Object.keys(own.json as object)).toEqual(["id", "app_id", ...Object.keys(grown)]);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("apps with equal column sets share functions, and a push of another set replaces none of them", async () => {
  const name = freshName();
  const schema = defineSchema({ [name]: { ...TITLE, note: t.string().default("n") } });
  const [owner, same, fewer] = [
    await service.makeApp(schema),
    await service.makeApp(schema),
    await service.makeApp(),
  ];
  const before = await readFunctions(name);
  expect([...before.keys()]).toEqual(
    ENDPOINTS.map((endpoint) => functionOf(schema, name, endpoint)),
  );
  await postSchema(service, fewer, defineSchema({ [name]: TITLE }));
  const both = await readFunctions(name);
  expect(both.size).toBe(2 * ENDPOINTS.length);
  for (const [key, xmin] of before) expect(both.get(key)).toBe(xmin);
  await postSchema(
    service,
    owner,
    defineSchema({ [name]: { ...TITLE, note: t.string().default("n"), more: t.number() } }),
  );
  const grown = await readFunctions(name);
  expect(grown.size).toBe(3 * ENDPOINTS.length);
  for (const [key, xmin] of both) expect(grown.get(key)).toBe(xmin);
  for (const [app, keys] of [
    [owner, ["title", "note", "more"]],
    [same, ["title", "note"]],
    [fewer, ["title"]],
  ] as const) {
    const created = await service.call(app, `/v1/data/db/${name}`, post({ title: "x" }));
    expect(Object.keys(created.json as object)).toEqual(["id", "app_id", ...keys]);
  }
});

test("an app retains its declared columns and enum values, in the table's order", async () => {
  const name = freshName();
  const path = `/v1/data/db/${name}`;
  const kind = (values: [string, ...string[]]) => t.enum(values);
  const columns = { a: t.string(), kind: kind(["one", "two", "three", "four"]), b: t.number() };
  await service.makeApp(defineSchema({ [name]: columns }));
  const app = await service.makeApp(defineSchema({ [name]: { kind: kind(["two", "four"]) } }));
  const second = defineSchema({ [name]: { b: t.number(), kind: kind(["one", "four"]) } });
  expect(await postSchema(service, app, second)).toMatchObject({ json: { status: "applied" } });
  const third = defineSchema({ [name]: { b: t.number() } });
  expect((await postSchema(service, app, third)).json).toMatchObject({
    status: "unchanged",
    notes: [expect.stringContaining("KEPT")],
  });
  for (const value of ["one", "two", "four"]) {
    const created = await service.call(app, path, post({ b: 1, kind: value, a: "theirs" }));
    expect(created.text).toContain(`"kind":"${value}","b":1}`);
  }
  const rejected = await service.call(app, path, post({ kind: "three" }));
  expect([rejected.status, rejected.text]).toEqual([422, expect.not.stringContaining("three")]);
});

test.each(["before", "after"])(
  "an app with rows declares all values of an enum that the owner added %s the app used the table; a new app can declare fewer",
  async (order) => {
    const name = freshName();
    const path = `/v1/data/db/${name}`;
    const schema = (columns: object) => defineSchema({ [name]: { title: t.string(), ...columns } });
    const state = (values: [string, ...string[]], initial: string) =>
      schema({ state: t.enum(values).required().default(initial) });
    const ALL: [string, ...string[]] = ["open", "doing", "hidden"];
    const owner = await service.makeApp(order === "before" ? state(ALL, "hidden") : schema({}));
    const app = await service.makeApp(schema({}));
    await service.call(app, path, post({ title: "a" }));
    await service.pushSchema(owner, state(ALL, "hidden"));
    await service.pushSchema(owner, state(ALL, "open"));

    const fewer = state(["open", "doing"], "open");
    const rejected = await postSchema(service, app, fewer);
    expect([rejected.status, rejected.text]).toEqual([409, expect.not.stringContaining("hidden")]);
    expect(rejected.json).toMatchObject({
      error: "incompatible_schema",
      details: [
        {
          path: `/${name}/state`,
          message: `The schema declares the values ["open","doing"], which are not all values of the column: declare all values, as its owner "${owner.slug}" does, because rows of this app can have any of them`,
        },
      ],
    });

    expect((await postSchema(service, app, state(ALL, "open"))).status).toBe(200);
    expect((await service.call(app, path)).json).toMatchObject({ rows: [{ state: "hidden" }] });
    expect((await postSchema(service, app, fewer)).json).toMatchObject({ status: "unchanged" });
    expect((await postSchema(service, await service.makeApp(), fewer)).status).toBe(200);
  },
);

describe("a new owner that declared fewer enum values", () => {
  const ALL: [string, ...string[]] = ["open", "doing", "done"];
  const kind = (...values: [string, ...string[]]) => ({ kind: t.enum(values) });

  /** Returns requests of the new owner, after a transfer of a table that two other apps use. */
  async function transfer(declared: object) {
    const name = freshName();
    const schema = (columns: object) => defineSchema({ [name]: { title: t.string(), ...columns } });
    await service.makeApp(schema(kind(...ALL)));
    const owner = await service.makeApp(schema(declared));
    await service.makeApp(schema(kind("doing", "done")));
    await runAction(service.service, "transfer_table", {
      wanted_table: name,
      new_slug: owner.slug,
    });
    return {
      pushAs: (columns: object) => postSchema(service, owner, schema(columns)),
      create: (json: object) => service.call(owner, `/v1/data/db/${name}`, post(json)),
    };
  }

  test("pushes its unchanged schema, adds values in any position, and is served only its own", async () => {
    const { pushAs, create } = await transfer(kind("open", "done"));
    expect((await pushAs(kind("open", "done"))).json).toMatchObject({ status: "unchanged" });
    const more = kind("first", "open", "next", "done", "last");
    expect(await pushAs(more)).toMatchObject({ status: 200, json: { status: "applied" } });
    expect((await pushAs(more)).json).toMatchObject({ status: "unchanged", steps: [] });
    expect(await readDrift(service.service.admin)).toEqual([]);
    expect((await create({ kind: "next" })).status).toBe(201);
    expect((await create({ kind: "doing" })).status).toBe(422);
    expect((await pushAs(kind("first", "open", "next", "doing", "done", "last"))).status).toBe(200);
    expect((await create({ kind: "doing" })).status).toBe(201);
  });

  test.each(cases("name", "before", "after", "says")`
    without a value that it declared     | open,done | open            | does not declare "done", which
    in another order                     | open,done | done,open       | keep all existing values in their order
    in another order than the table's    | open,done | open,done,doing | keep all existing values in their order
    of a column that it did not declare  |           | open,done       | db drop-value
  `)("gets one conflict for values $name", async ({ before, after, says }) => {
    const declare = (list: string) => (list === "" ? {} : kind(...(list.split(",") as [string])));
    const { pushAs } = await transfer(declare(before));
    expect((await pushAs(declare(after))).json).toMatchObject({
      error: "incompatible_schema",
      details: [{ message: expect.stringContaining(says) }],
    });
  });
});

test("the error for a duplicate in a unique constraint with other apps' columns names only the app's columns", async () => {
  const name = freshName();
  const columns = { a: t.string(), hidden: t.string().default("x") };
  await service.makeApp(defineSchema({ [name]: t.model(columns).unique("a", "hidden") }));
  const app = await service.makeApp(defineSchema({ [name]: { a: t.string() } }));
  const path = `/v1/data/db/${name}`;
  await service.call(app, path, post({ a: "1" }));
  const conflict = await service.call(app, path, post({ a: "1" }));
  expect([conflict.status, conflict.text]).toEqual([409, expect.not.stringContaining("hidden")]);
  expect(conflict.json).toMatchObject({
    details: [{ path: "/a", message: "Must be unique: another row has this a" }],
  });
});

test("an owner's later default of a column in a unique constraint rejects no write of another app", async () => {
  const name = freshName();
  const at = t.timestamp().unique().default("now");
  const schema = (changes: object) => {
    const columns = { title: t.string(), slot: t.string(), code: t.string().unique(), at };
    return defineSchema({ [name]: t.model({ ...columns, ...changes }).unique("title", "slot") });
  };
  const owner = await service.makeApp(schema({}));
  const other = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  const create = async () =>
    (await service.call(other, `/v1/data/db/${name}`, post({ title: "same" }))).status;
  expect([await create(), await create()]).toEqual([201, 201]);

  for (const changes of [
    { slot: t.string().default("x") },
    { code: t.string().unique().default("x") },
    { at: t.timestamp().unique().default("2026-01-02T03:04:05Z") },
  ]) {
    const rejected = await postSchema(service, owner, schema(changes));
    expect([await create(), await create()]).toEqual([201, 201]);
    expect([rejected.status, rejected.text]).toEqual([
      409,
      expect.not.stringContaining(other.slug),
    ]);
    expect(rejected.json).toMatchObject({
      error: "incompatible_schema",
      details: [
        {
          path: `/${name}/${Object.keys(changes)[0]}`,
          message: expect.stringContaining("only while no other app uses the table"),
        },
      ],
    });
  }
  // Without a default, the rows of other apps are distinct.
  const removed = await postSchema(service, owner, schema({ at: t.timestamp().unique() }));
  expect(removed.json).toMatchObject({ status: "applied" });
  expect([await create(), await create()]).toEqual([201, 201]);
});

test("functions of an unused column set remain for an hour, and a later push or migrate drops them", async () => {
  const name = freshName();
  const schema = (more: object) => defineSchema({ [name]: { ...TITLE, ...more } });
  const app = await service.makeApp(schema({}));
  const other = await service.makeApp(schema({}));
  const first = [...(await readFunctions(name)).keys()];
  await postSchema(service, app, schema({ a: t.string() }));
  await postSchema(service, other, schema({ a: t.string() }));
  await Promise.all([age(app, 3590), age(other, 3590)]);
  await postSchema(service, app, schema({ a: t.string(), b: t.string() }));
  expect([...(await readFunctions(name)).keys()]).toEqual(expect.arrayContaining(first));

  await age(other, 20);
  await sweepSets(service.service.admin);
  expect([...(await readFunctions(name)).keys()]).toEqual(expect.arrayContaining(first));
  await age(app, 20);
  await postSchema(service, app, schema({ a: t.string(), b: t.string(), c: t.string() }));
  const left = await readFunctions(name);
  expect(first.filter((name) => left.has(name))).toEqual([]);
  expect(left.size).toBe(3 * ENDPOINTS.length);

  await age(app, 3600);
  await sweepSets(service.service.admin);
  expect((await readFunctions(name)).size).toBe(2 * ENDPOINTS.length);
  expect(await refreshFunctions(service.service.admin)).toEqual([]);
  expect(await readDrift(service.service.admin)).toEqual([]);
  expect((await service.call(undefined, "/ready")).status).toBe(200);
});

test("an app has max eight column sets of a table: a ninth gets busy, and the oldest is then dropped", async () => {
  const name = freshName();
  const columns = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${n}`, t.boolean()]));
  const schema = (count: number) => defineSchema({ [name]: columns(count) });
  const app = await service.makeApp(schema(1));
  for (const count of [2, 3, 4, 5, 6, 7, 8]) await service.pushSchema(app, schema(count));
  await hurry(app);
  for (const more of [{}, { dryRun: true }]) {
    const rejected = await postSchema(service, app, schema(9), more);
    expect([rejected.status, rejected.json]).toMatchObject([409, { error: "push_busy" }]);
  }
  await age(app, 5);
  expect(await postSchema(service, app, schema(9))).toMatchObject({ json: { status: "applied" } });
  const left = [...(await readFunctions(name)).keys()];
  expect(left).toHaveLength(8 * ENDPOINTS.length);
  expect(left).not.toContain(functionOf(schema(1), name, "get"));
  expect(left).toContain(functionOf(schema(2), name, "get"));
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("a process with a stale schema calls a dropped function once, and still serves the request", async () => {
  const name = freshName();
  const path = `/v1/data/db/${name}`;
  const schema = (more: object) => defineSchema({ [name]: { ...TITLE, ...more } });
  const app = await service.makeApp(schema({}));
  const first = await service.call(app, path, post({ title: "a" }));
  // Push without the serving process, whose cached catalog becomes stale.
  await service.pushSchema(app, schema({ a: t.string() }));
  await age(app, 3600);
  await sweepSets(service.service.admin);
  const created = await service.call(app, path, post({ title: "b" }));
  expect([first.status, created.status]).toEqual([201, 201]);
  expect(Object.keys(created.json as object)).toEqual(["id", "app_id", "title", "a"]);
});

test("an owner's index or unique constraint rejects no text of another app, regardless of length", async () => {
  const name = freshName();
  const path = `/v1/data/db/${name}`;
  const columns = { title: t.string(), code: t.decimal(), note: t.string() };
  const [owner, other] = [await service.makeApp(), await service.makeApp()];
  for (const app of [owner, other])
    await postSchema(service, app, defineSchema({ [name]: columns }));
  const grown = t
    .model({ ...columns, title: t.string().index() })
    .index("title", "note")
    .index("code", "title", "note");
  expect(await postSchema(service, owner, defineSchema({ [name]: grown }))).toMatchObject({
    json: { status: "applied" },
  });
  const long = Buffer.from(crypto.getRandomValues(new Uint8Array(9000))).toString("base64");
  const code = `-${"7".repeat(199)}.${"3".repeat(198)}`;
  const created = await service.call(other, path, post({ title: long, note: long, code }));
  expect([created.status, created.json]).toMatchObject([201, { title: long, note: long, code }]);
});

test("the widest possible indexes accept the longest values", async () => {
  const name = freshName();
  const decimals = Array.from({ length: 8 }, (_, n) => `d${n}`);
  const strings = Array.from({ length: 23 }, (_, n) => `s${n}`);
  const columns = {
    ...Object.fromEntries(decimals.map((column) => [column, t.decimal()])),
    ...Object.fromEntries(strings.map((column) => [column, t.string()])),
  };
  const all = [...decimals, ...strings] as [string, ...string[]];
  const app = await service.makeApp(
    defineSchema({
      [name]: t
        .model(columns)
        .index(...all)
        .unique(...all)
        .index(...(strings as [string])),
    }),
  );
  const noise = () =>
    Array.from({ length: 400 }, () =>
      String.fromCodePoint(0x20000 + Math.floor(Math.random() * 40_000)),
    ).join("");
  const values = Object.fromEntries([
    ...decimals.map((column) => [column, `-${"9".repeat(199)}.${"9".repeat(199)}`]),
    ...strings.map((column) => [column, noise()]),
  ]);
  const path = `/v1/data/db/${name}`;
  const statuses = [values, values].map(
    async (json) => (await service.call(app, path, post(json))).status,
  );
  expect((await Promise.all(statuses)).sort()).toEqual([201, 409]);
  const tooMany = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`d${n}`, t.decimal()]));
  expect(() =>
    service.makeApp(
      defineSchema({ [name]: t.model(tooMany).index(...(Object.keys(tooMany) as [string])) }),
    ),
  ).toThrow("at most 8");
});

test("push and dry run report conflicts and the owning app to an app without the table", async () => {
  const name = freshName();
  const owner = await service.makeApp(
    defineSchema({
      [name]: {
        hidden_column: t.string().required(),
        kind: t.enum(["hidden label", "other label"]),
        size: t.number().default(4711),
        note: t.string(),
      },
    }),
  );
  const app = await service.makeApp();
  const declared = defineSchema({
    [name]: { kind: t.enum(["mine"]), size: t.boolean(), note: t.string() },
  });
  for (const more of [{}, { dryRun: true }]) {
    const { status, text, json } = await postSchema(service, app, declared, more);
    expect(status).toBe(409);
    for (const term of ["hidden", "label", "4711", "number", "string", "enum"])
      expect(text).not.toContain(term);
    const { details } = json as { details: { path: string; message: string }[] };
    const tail = "which does not fit the table";
    const remedy = `declare it as its owner "${owner.slug}" does, ask "${owner.slug}" to change it, or choose another table name`;
    expect(details).toEqual([
      { path: `/${name}`, message: expect.stringContaining(`${tail}: ${remedy}`) },
      { path: `/${name}/kind`, message: `The schema declares this column, ${tail}` },
      { path: `/${name}/size`, message: `The schema declares this column, ${tail}` },
    ]);
  }
});

test("a table has a limit of columns that updates set, including those that are no longer declared", async () => {
  const name = freshName();
  const columns = (prefix: string, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, n) => [
        `${prefix}${n}`,
        t.timestamp().default("now").onUpdate("now"),
      ]),
    );
  const app = await service.makeApp(defineSchema({ [name]: columns("a", 3) }));
  const rejected = await postSchema(service, app, defineSchema({ [name]: columns("b", 2) }));
  expect([rejected.status, rejected.text]).toEqual([409, expect.stringContaining("limit of 4")]);
  expect(await postSchema(service, app, defineSchema({ [name]: columns("b", 1) }))).toMatchObject({
    json: { status: "applied" },
  });
});

test("the defaults of a table have a total limit, including defaults that are no longer declared", async () => {
  const name = freshName();
  const columns = (prefix: string, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, n) => [
        `${prefix}${n}`,
        t.string().default("x".repeat(1000)),
      ]),
    );
  const app = await service.makeApp(defineSchema({ [name]: columns("a", 5) }));
  const rejected = await postSchema(service, app, defineSchema({ [name]: columns("b", 5) }));
  expect([rejected.status, rejected.text]).toEqual([409, expect.stringContaining("limit of 8192")]);
  expect(await postSchema(service, app, defineSchema({ [name]: columns("b", 3) }))).toMatchObject({
    json: { status: "applied" },
  });
});
