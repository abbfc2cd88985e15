/**
 * Tables and columns with names that are SQL words, collide, or exceed PostgreSQL's 63 bytes. All of them work over
 * HTTP.
 *
 * @module
 */

import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MAX_ROWS } from "../../src/std/limits.ts";
import {
  deriveName,
  indexesOf,
  keysOf,
  nameOf,
  referencesOf,
} from "../../src/tables/catalog/mod.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { drawRuns } from "../support/tier.ts";

const HOSTILE = [
  "app",
  "lim",
  "off",
  "body",
  "t",
  "row",
  "row_",
  "id2",
  "select",
  "order",
  "user",
  "limit",
  "offset",
  "found",
  "new",
  "old",
  "v0",
  "current_user",
  "table",
  "where",
  "from",
  "null",
  "true",
  "default",
  "values",
  "returning",
  "set",
  "into",
  "returned",
  "record",
  "text",
  "uuid",
  "jsonb",
  "numeric",
  "json_agg",
  "concat",
  "tenant",
  "data",
  "api",
  "todos",
  "hostile",
  "tg_op",
  "sqlstate",
  "sqlerrm",
  "self",
  "excluded",
  "array",
  "case",
  "end",
  "begin",
  "declare",
  "_",
  "__",
  "_x",
  "x_",
  "x__y",
  "Mixed",
  "UPPER",
  "camelCase",
  "app_",
  "app_ID2",
  "rows",
  "hasMore",
  "length",
  "name",
  "keys",
  "get",
  "a1b2c3d4e5",
  "_1",
  "error",
  "requestId",
  "__defineGetter__",
  "isPrototypeOf",
  "row_to_json",
  "a__b",
  "a".repeat(63),
];
/** Indexed columns: the name of the index contains the column's name. */
const INDEXED = ["app", "lim", "off", "t", "row", "v0", "_"];
const LONG = `${"long_column_name_".repeat(4).slice(0, 62)}`;
const NAMES = [...HOSTILE, `${LONG}a`, `${LONG}b`];
const TABLE = "t".repeat(48);

/** Returns a column from one builder for each name. */
const columns = (make: () => ReturnType<typeof t.string>) =>
  Object.fromEntries(NAMES.map((name) => [name, make()]));

const schema = defineSchema({
  hostile: t
    .model({
      ...columns(() => t.string()),
      ...Object.fromEntries(INDEXED.map((name) => [name, t.string().index()])),
    })
    .index("select", "user")
    .unique("a__b", "_"),
  select: { table: t.string().unique() },
  user: { user: t.string() },
  order: { limit: t.number(), offset: t.decimal() },
  todos_get: { list: t.boolean() },
  todos: { get: t.json() },
  todos_pkey: { pkey: t.timestamp() },
  todos_list: { todos_list: t.uuid() },
  a: t
    .model({ b: t.string(), c: t.string(), b__c: t.string().index(), _b: t.string().index() })
    .unique("b", "c"),
  a_: { b: t.string().index(), enum: t.enum(["x"]), b__enum: t.enum(["y"]) },
  [TABLE]: t
    .model({
      [`${LONG}a`]: t.enum(["one", "it's"]).unique(),
      [`${LONG}b`]: t.enum(["two"]).index(),
      [`${LONG.slice(0, 60)}c`]: t.ref(TABLE, { onDelete: "cascade" }),
    })
    .unique(`${LONG}a`, `${LONG}b`)
    .index(`${LONG}b`, `${LONG}a`),
});
const service = await share(openTestService());
const app = await service.makeApp(schema);
const other = await service.makeApp(schema);

const post = (json: object) => ({ method: "POST", json });

describe("a table with hostile column names", () => {
  test("lets two apps create, read, list, update and delete rows", async () => {
    const values = Object.fromEntries(NAMES.map((name) => [name, `value of ${name}`]));
    await service.call(
      other,
      "/v1/data/db/hostile",
      post(Object.fromEntries(NAMES.map((name) => [name, "theirs"]))),
    );
    const created = await service.call(app, "/v1/data/db/hostile", post(values));
    expect(created.status).toBe(201);
    const { id, app_id, ...back } = created.json as Record<string, string>;
    expect([app_id, back]).toEqual([app.id, values]);
    expect(Object.keys(back)).toEqual(NAMES);
    const path = `/v1/data/db/hostile/${id}`;
    expect((await service.call(app, path)).json).toEqual(created.json);
    const list = await service.call(app, "/v1/data/db/hostile");
    expect(list.json).toEqual({ rows: [created.json], limit: MAX_ROWS, offset: 0, hasMore: false });
    for (const name of NAMES) {
      const changed = await service.call(app, path, {
        method: "PATCH",
        json: { [name]: "changed" },
      });
      expect(changed.json).toEqual({ ...(created.json as object), [name]: "changed" });
      await service.call(app, path, { method: "PATCH", json: { [name]: values[name] } });
    }
    expect((await service.call(other, path)).status).toBe(404);
    expect((await service.call(app, path, { method: "DELETE" })).status).toBe(204);
    expect((await service.call(app, path)).status).toBe(404);
    const both = await service.call(app, "/v1/data/db/hostile", post([values, {}]));
    expect(both.json).toMatchObject({
      rows: [values, Object.fromEntries(NAMES.map((name) => [name, null]))],
    });
    expect((await service.call(other, "/v1/data/db/hostile")).text).toContain('"theirs"');
  });

  test.each([
    "select",
    "user",
    "order",
    "todos_get",
    "todos",
    "todos_pkey",
    "todos_list",
    "a",
    "a_",
    TABLE,
  ])("the table %s behaves like any other table", async (table) => {
    const created = await service.call(app, `/v1/data/db/${table}`, post({}));
    expect(created.status).toBe(201);
    const path = created.headers.get("location") ?? "";
    expect((await service.call(app, path)).text).toBe(created.text);
    expect((await service.call(app, path, { method: "PATCH", json: {} })).text).toBe(created.text);
    expect((await service.call(app, `/v1/data/db/${table}`, post([{}, {}]))).status).toBe(201);
    expect((await service.call(app, path, { method: "DELETE" })).status).toBe(204);
  });

  test("reports the right columns of a violation despite truncated or joined names", async () => {
    const [a, b] = [`${LONG}a`, `${LONG}b`];
    const conflict = async (table: string, first: object, second: object) => {
      await service.call(app, `/v1/data/db/${table}`, post(first));
      const response = await service.call(app, `/v1/data/db/${table}`, post(second));
      const { details } = response.json as { details: { path: string }[] };
      return [response.status, details.map(({ path }) => path)];
    };
    expect(await conflict(TABLE, { [a]: "it's" }, { [a]: "it's", [b]: "two" })).toEqual([
      409,
      [`/${a}`],
    ]);
    expect(await conflict("a", { b: "1", c: "2" }, { b: "1", c: "2" })).toEqual([
      409,
      ["/b", "/c"],
    ]);
    const dangling = await service.call(
      app,
      `/v1/data/db/${TABLE}`,
      post({ [`${LONG.slice(0, 60)}c`]: app.id }),
    );
    expect([dangling.status, dangling.text]).toEqual([
      422,
      expect.stringContaining(`/${LONG.slice(0, 60)}c`),
    ]);
  });
});

test("derived names fit 63 bytes and are unique", () => {
  const column = fc.oneof(
    fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/),
    fc.stringMatching(/^[a-c_]{1,4}$/),
    fc.stringMatching(/^[a-f][0-9a-f]{9}$/),
  );
  const input = fc.record({
    table: fc.oneof(
      fc.stringMatching(/^[a-z][a-z0-9]{0,47}$/),
      fc.stringMatching(/^[ab]_?[ab]?_?$/),
    ),
    columns: fc.uniqueArray(column, { minLength: 1, maxLength: 4 }),
    suffix: fc.constantFrom("key" as const, "idx" as const, "fkey" as const, "enum" as const),
  });
  const nameOf = ({
    table,
    columns,
    suffix,
  }: typeof input extends fc.Arbitrary<infer T> ? T : never) => deriveName(table, columns, suffix);
  fc.assert(
    fc.property(input, input, (first, second) => {
      expect(nameOf(first).length).toBeLessThanOrEqual(63);
      expect(nameOf(first)).toContain("__");
      expect(nameOf(first) === nameOf(second)).toBe(
        JSON.stringify(first) === JSON.stringify(second),
      );
    }),
    drawRuns(3000),
  );
});

test("every constraint of the tables has its derived name", async () => {
  const found = await service.query<{ name: string }>(
    "select conname as name from pg_constraint where connamespace = 'data'::regnamespace and contype in ('u', 'f') union select i.relname from pg_index join pg_class i on i.oid = indexrelid where i.relnamespace = 'data'::regnamespace and not indisprimary",
  );
  const rows = await service.query<{ definition: string }>(
    "select definition::text from rowhouse.tables",
  );
  const derived = rows.flatMap(({ definition }) => {
    const table = JSON.parse(definition);
    return [...keysOf(table), ...indexesOf(table), ...referencesOf(table)].map(nameOf);
  });
  expect(found.map(({ name }) => name).sort()).toEqual(derived.sort());
});
