import { beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  createDataClient,
  type DataClient,
  DataError,
  type ListOptions,
} from "../../src/sdk/data.ts";
import { MAX_BATCH, MAX_ROWS } from "../../src/std/limits.ts";
import { casesBy } from "../support/cases.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: {
    title: t.string().required(),
    price: t.decimal(),
    rank: t.number(),
    due: t.timestamp(),
    extra: t.json<{ tags: string[] }>(),
    status: t.enum(["open", "done"]).required().default("open"),
    project: t.ref("projects"),
  },
  // biome-ignore lint/suspicious/noThenProperty: a table may be called so
  then: { title: t.string() },
});

const service = await share(openTestService());
const app = await service.makeApp(schema);
const db = connect(app);

function connect({ key }: TestApp): DataClient<typeof schema> {
  return createDataClient({ baseUrl: `${service.url}/`, apiKey: key, schema });
}

/** The error of a rejected call. */
async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (response) => new Error(`Cannot find a failure: the response was ${JSON.stringify(response)}`),
    (error: unknown) => error,
  );
}

describe("a row", () => {
  test("is created with every value, read, updated and deleted", async () => {
    const project = await db.projects.create({ name: "Garden" });
    const values = {
      title: "Water the plants",
      price: "12345678901234567890.10",
      rank: 0.1,
      due: "2026-01-02T03:04:05.123456+00:00",
      extra: { tags: ["spring", "日本語"] },
      status: "done" as const,
      project: project.id,
    };
    const todo = await db.todos.create(values);
    expect(todo).toEqual({ ...values, id: todo.id, app_id: app.id });
    expect(await db.todos.get(todo.id)).toEqual(todo);
    const changed = await db.todos.update(todo.id, { due: null, status: "open" });
    expect(changed).toEqual({ ...todo, due: null, status: "open" });
    expect(await db.todos.update(todo.id, {})).toEqual(changed);
    expect(await db.todos.delete(todo.id)).toBeUndefined();
    expect(await failureOf(db.todos.get(todo.id))).toMatchObject({
      status: 404,
      code: "not_found",
    });
  });

  test("accepts defaults, and undefined for an omitted value", async () => {
    const values = { title: "Milk", rank: undefined };
    const { id, ...rest } = await createDataClient<{
      todos: { row: { id: string }; insert: typeof values; update: object };
    }>({ baseUrl: service.url, apiKey: app.key }).todos.create(values);
    expect(rest).toMatchObject({ title: "Milk", status: "open", rank: null });
    const untyped: object = { rank: undefined, title: "Oat milk" };
    await db.todos.update(id, { rank: 7 });
    expect(await db.todos.update(id, untyped)).toMatchObject({ rank: 7, title: "Oat milk" });
  });

  test("of a table named then is served, and the client is not a promise", async () => {
    expect(await db).toBe(db);
    expect((await (await db).then.create({ title: "" })).title).toBe("");
  });
});

describe("many rows", () => {
  test("are created together, in their order, with their defaults", async () => {
    const many = connect(await service.makeApp(schema));
    const project = await many.projects.create({ name: "Garden" });
    const values = [
      { title: "Dig", status: "done", project: project.id },
      { title: "Sow", price: "0.10" },
    ] as const;
    const before = requestCount();
    const rows = await many.todos.createMany(values);
    expect(requestCount() - before).toBe(1);
    expect(rows).toMatchObject([
      { title: "Dig", status: "done", project: project.id },
      { title: "Sow", status: "open", rank: null, price: "0.10" },
    ]);
    expect((await many.todos.list()).rows).toEqual(rows);
    expect(await many.todos.createMany([])).toEqual([]);
    expect(requestCount() - before).toBe(2);
  });

  test("are all rejected if one row is invalid, and the error names that row", async () => {
    const many = connect(await service.makeApp(schema));
    const untyped: { title: string }[] = [{ title: "Dig" }, { title: 7 as unknown as string }];
    expect(await failureOf(many.todos.createMany(untyped))).toMatchObject({
      message: "todos.createMany: /1/title must be a string",
      status: 422,
      details: [{ path: "/1/title", message: "Must be a string" }],
    });
    const thousand = Array.from({ length: MAX_BATCH + 1 }, () => ({ title: "" }));
    expect(await failureOf(many.todos.createMany(thousand))).toMatchObject({
      code: "invalid_json",
    });
    expect((await many.todos.list()).rows).toEqual([]);
  });
});

describe("any number of rows", () => {
  test("are created in calls of max 1,000 rows and 100 KB, in their order", async () => {
    const many = connect(await service.makeApp(schema));
    const values = [
      ...Array.from({ length: MAX_BATCH + 1 }, (_, rank) => ({ title: "small", rank })),
      ...Array.from({ length: 12 }, (_, index) => ({
        title: "ä".repeat(10_000),
        rank: MAX_BATCH + 1 + index,
      })),
    ];
    const before = requestCount();
    const calls: number[] = [];
    const rows = await many.todos.createAll(values, {
      onStored: (stored) => calls.push(stored.length),
    });
    expect(rows.map(({ rank }) => rank)).toEqual(values.map(({ rank }) => rank));
    expect(calls).toEqual([MAX_BATCH, 6, 5, 2]);
    // Above 100 KB, the client reads the limit of the service.
    expect(requestCount() - before).toBe(5);
    const listed: (number | null)[] = [];
    for await (const { rank } of many.todos.all()) listed.push(rank);
    expect(listed).toEqual(values.map(({ rank }) => rank));
    expect(await many.todos.createAll([])).toEqual([]);
  });

  test("list the stored rows after an error, and name the rejected row by its position", async () => {
    const many = connect(await service.makeApp(schema));
    async function* makeProjects() {
      for (let index = 0; index < 1500; index++) yield { name: `p${index === 1200 ? 7 : index}` };
    }
    const error = await failureOf(many.projects.createAll(makeProjects()));
    if (!(error instanceof DataError)) throw new Error("Every failure is a DataError");
    expect(error).toMatchObject({
      code: "unique_violation",
      message: expect.stringMatching(
        /^projects\.createAll: \/1200\/name .*\(1000 rows before it are stored\)$/,
      ),
      details: [{ path: "/1200/name" }],
    });
    expect(error.stored).toHaveLength(MAX_BATCH);
    const { rows } = await many.projects.list();
    expect(error.stored.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  });
});

describe("a list", () => {
  let listed: TestApp;
  let todos: DataClient<typeof schema>["todos"];
  const titles = ["a", "b", "c", "d", "e"];
  beforeAll(async () => {
    listed = await service.makeApp(schema);
    todos = connect(listed).todos;
    for (const title of titles) await todos.create({ title });
  });

  test.each<{ name: string; options: ListOptions; want: (string[] | number | boolean)[] }>([
    { name: "whole", options: {}, want: [titles, MAX_ROWS, 0, false] },
    { name: "of two", options: { limit: 2 }, want: [["a", "b"], 2, 0, true] },
    { name: "at the end", options: { limit: 2, offset: 3 }, want: [["d", "e"], 2, 3, false] },
    { name: "past the end", options: { offset: 9 }, want: [[], MAX_ROWS, 9, false] },
    { name: "of no rows", options: { limit: 0 }, want: [[], 0, 0, true] },
    { name: "above the maximum", options: { limit: 5000 }, want: [titles, MAX_ROWS, 0, false] },
  ])("$name contains its rows and the options", async ({ options, want }) => {
    const { rows, limit, offset, hasMore } = await todos.list(options);
    expect([rows.map(({ title }) => title), limit, offset, hasMore]).toEqual(want);
  });

  test.each<{ name: string; options: ListOptions; want: string[][] }>([
    { name: "of two rows", options: { limit: 2 }, want: [["a", "b"], ["c", "d"], ["e"]] },
    { name: "of all rows", options: { limit: 5 }, want: [titles] },
    { name: "from the fourth row", options: { offset: 3, limit: 1 }, want: [["d"], ["e"]] },
    { name: "of no rows, once", options: { limit: 0 }, want: [[]] },
  ])("comes in pages $name", async ({ options, want }) => {
    const pages = await Array.fromAsync(todos.pages(options));
    expect(pages.map(({ rows }) => rows.map(({ title }) => title))).toEqual(want);
    const rows = await Array.fromAsync(todos.all(options));
    expect(rows.map(({ title }) => title)).toEqual(want.flat());
  });

  test("with a filter that the service does not support is rejected", async () => {
    const filtered: object = { status: "eq.open" };
    await expect(db.todos.list(filtered)).rejects.toMatchObject({
      status: 400,
      code: "unsupported_query",
    });
  });

  test("is read only as far as it is consumed", async () => {
    const before = requestCount();
    for await (const { title } of todos.all({ limit: 2 })) if (title === "b") break;
    expect(requestCount() - before).toBe(1);
  });

  test("contains only the calling app's rows", async () => {
    const rows = await Array.fromAsync(connect(await service.makeApp(schema)).todos.all());
    expect(rows).toEqual([]);
  });
});

function requestCount(): number {
  return service.log.filter((line) => line.includes('"event":"request"')).length;
}

describe("an error response is a DataError:", () => {
  type Client = DataClient<typeof schema>;
  const none = "0190163d-8694-739b-aea5-966c26f8ad91";
  const types: { title: string } = JSON.parse('{"rank":"1","price":12.5,"title":null}');
  const name = "Kitchen";
  test.each(
    casesBy<(db: Client) => Promise<unknown>>({
      "404 not_found": {
        "get of a missing row": (db) => db.todos.get(none),
        "update of a missing row": (db) => db.todos.update(none, { rank: 1 }),
        "delete of a missing row": (db) => db.todos.delete(none),
      },
      "400 invalid_id": { "an invalid uuid": (db) => db.todos.get("a/b?c#d") },
      "400 invalid_query": {
        "a fractional limit": (db) => db.todos.list({ limit: 0.5 }),
        "an offset below 0": (db) => db.todos.list({ offset: -1 }),
      },
      "422 validation_failed /price /rank /title": {
        "several values of wrong types": (db) => db.todos.create(types),
      },
      "422 validation_failed /project": {
        "a dangling reference": (db) => db.todos.create({ title: "", project: none }),
      },
      "409 unique_violation /name": {
        "a repeated name": async (db) => [
          await db.projects.create({ name }),
          await db.projects.create({ name }),
        ],
      },
      "409 still_referenced": {
        "a delete of a referenced row": async (db) => {
          const { id } = await db.projects.create({ name: "Attic" });
          await db.todos.create({ title: "", project: id });
          await db.projects.delete(id);
        },
      },
      "413 body_too_large": {
        "more than 100 KB": (db) => db.todos.create({ title: "x".repeat(103_000) }),
      },
      "401 unauthenticated": {
        "an unknown key": () => connect({ ...app, key: `${app.key.slice(0, -1)}_` }).todos.list(),
      },
      "404 unknown_table": {
        "a table that the app has not pushed": () =>
          createDataClient<{ todoz: { row: { id: string }; insert: object; update: object } }>({
            baseUrl: service.url,
            apiKey: app.key,
          }).todoz.list(),
      },
      "404 unknown_route": {
        "another server": () =>
          createDataClient({ baseUrl: `${service.url}/api`, apiKey: app.key, schema }).todos.list(),
      },
    }),
  )("$name: $expected", async ({ value: call, expected }) => {
    const error = await failureOf(call(db));
    if (!(error instanceof DataError)) throw error;
    const { status, code, details } = error;
    expect([status, code, ...details.map(({ path }) => path).sort()].join(" ")).toBe(expected);
    expect(error).toMatchObject({ name: "DataError", retryable: false });
    expect(error).toHaveProperty("requestId", expect.stringMatching(/./));
    expect(Bun.inspect(error)).not.toContain(app.key.slice(0, -1));
  });

  test("a key with only the read scope", async () => {
    const reader = connect(await service.makeApp(schema, { scopes: ["data:read"] }));
    expect(await reader.todos.list()).toMatchObject({ rows: [] });
    const error = await failureOf(reader.todos.create({ title: "" }));
    expect(error).toMatchObject({ status: 403, code: "forbidden" });
  });
});

describe("no request is sent for", () => {
  const untyped = (values: object): { title: string } => ({ title: "", ...values });
  test.each(
    casesBy<() => Promise<unknown>>({
      invalid_id: {
        "an empty id": () => db.todos.get(""),
        "a delete of an empty id": () => db.todos.delete(""),
        "an id of one dot": () => db.todos.delete("."),
        "an id of two dots": () => db.todos.update("..", {}),
        "an unpaired surrogate": () => db.todos.get("\ud800"),
      },
      TypeError: {
        "a bigint": () => db.todos.create(untyped({ rank: 1n })),
        "a number that JSON cannot represent": () => db.todos.create(untyped({ rank: Number.NaN })),
        "a timeout of 0 ms": () => db.todos.list({ timeoutMs: 0 }),
      },
      AbortError: {
        "an aborted signal": () => db.todos.list({ signal: AbortSignal.abort() }),
      },
    }),
  )("$name", async ({ value: call, expected }) => {
    const before = requestCount();
    const failure = await failureOf(call());
    const { name, message } = failure as Error;
    expect(failure instanceof DataError ? [failure.status, failure.code] : name).toEqual(
      expected === "invalid_id" ? [0, expected] : expected,
    );
    if (expected === "TypeError") expectSentences(message, {});
    expect(requestCount()).toBe(before);
  });
});

describe("createDataClient()", () => {
  test("has exactly the tables of its schema", () => {
    expect(Object.keys(db)).toEqual(["projects", "todos", "then"]);
    expect("tasks" in db).toBe(false);
    expect(Object.isFrozen(db)).toBe(true);
    expect(Object.isFrozen(db.todos)).toBe(true);
    expect(Bun.inspect(db, { depth: 9 })).not.toContain(app.key);
  });

  test("accepts only table names without a schema, and is not a promise", async () => {
    const open: Record<string, unknown> = createDataClient<Record<string, never>>({
      baseUrl: service.url,
      apiKey: app.key,
    });
    expect(await open).toBe(open);
    expect(open["todos"]).toBe(open["todos"]);
    expect(typeof open["then"]).toBe("object");
    expect([open["toJSON"], open["$$typeof"], open[""], open["../todos"]]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(JSON.stringify(open)).toBe("{}");
    expect(() => {
      open["todos"] = 1;
    }).toThrow(TypeError);
  });

  test("the service can be below a path of a proxy", async () => {
    const proxy = Bun.serve({
      port: 0,
      fetch: (request) =>
        fetch(new Request(request.url.replace(/^.*\/base\//, `${service.url}/`), request)),
    });
    const baseUrl = `http://127.0.0.1:${proxy.port}/base/`;
    const below = createDataClient({ baseUrl, apiKey: app.key, schema });
    const { id } = await below.projects.create({ name: "below" });
    expect((await below.projects.get(id)).name).toBe("below");
    await proxy.stop(true);
  });

  test.each(
    casesBy<unknown>({
      baseUrl: {
        "a missing baseUrl": undefined,
        "a path as baseUrl": "/api",
        "a password in baseUrl": "http://a:b@c",
        "a query in baseUrl": "http://a?b",
        "a fragment in baseUrl": "http://a/#b",
        "a wrong port in baseUrl": "http://a:99999",
        "a word as port": "http://a:port",
        "another scheme": "postgres://a/b",
        "a line break in baseUrl": "http://a\n",
        "no host in baseUrl": "https://",
      },
      apiKey: {
        "a missing key": undefined,
        "an empty key": "",
        "a key with another alphabet": "rh_secret\u0435",
      },
      retries: { "infinite retries": Number.POSITIVE_INFINITY },
      timeoutMs: { "a NaN timeout": Number.NaN },
      schema: { "a module as schema": { default: schema }, "null as schema": null },
    }),
  )("rejects $name", ({ value, expected }) => {
    const all = { baseUrl: service.url, apiKey: "rh_key", schema, [expected]: value };
    const create: (options: never) => unknown = createDataClient;
    let error: unknown;
    try {
      Reflect.apply(create, undefined, [all]);
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof TypeError)) throw new Error("No TypeError");
    const facts = { hides: ["secret", "a:b"], varies: { [service.url]: "<service>" } };
    expectSentences(error.message, {
      names: [typeof value === "number" ? `${value}` : expected],
      ...facts,
    });
  });
});

test("a strict client rejects unknown columns, other clients drop them", async () => {
  const options = { baseUrl: service.url, apiKey: app.key };
  const create = (strict?: boolean) =>
    createDataClient<Record<string, never>>({ ...options, strict }) as unknown as {
      todos: { create: (values: object) => Promise<{ title: string }> };
    };
  const values = { title: "s", titel: "t" };
  expect((await create().todos.create(values)).title).toBe("s");
  const failure = create(true).todos.create(values);
  await expect(failure).rejects.toMatchObject({
    code: "validation_failed",
    details: [{ path: "/titel", message: 'Is not a column; did you mean "title"?' }],
  });
});

test("understands a pasted key with its scheme, spaces and line breaks", async () => {
  const apiKey = ` Bearer ${app.key.slice(0, 30)}\n${app.key.slice(30)}\r\n`;
  const pasted = createDataClient({ baseUrl: service.url, apiKey, schema });
  expect((await pasted.todos.list({ limit: 1 })).limit).toBe(1);
});
