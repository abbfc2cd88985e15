/**
 * Two apps on one table: after additions by the owner, every request of the other app gets the same bytes and uses no
 * more disk space. fast-check draws the pushes.
 *
 * @module
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { freshName, postDefinition } from "../support/push.ts";
import { pushDefinition } from "../support/push_steps.ts";
import {
  type Call,
  definitionOf,
  openTestService,
  type TestApp,
  type TestResponse,
} from "../support/service.ts";
import { share } from "../support/share.ts";
import {
  base,
  type Column,
  fewer,
  makeBurdened,
  noise,
  type Table,
  whole,
} from "../support/shared_table.ts";
import { countRuns, drawRuns } from "../support/tier.ts";

const service = await share(openTestService());

const ROWS = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`);
const LONG = Buffer.from(crypto.getRandomValues(new Uint8Array(9000))).toString("base64");

const flags = { required: fc.boolean(), index: fc.boolean(), unique: fc.constant(false) };
const drawn = {
  string: fc.oneof(
    { weight: 3, arbitrary: fc.string({ maxLength: 20, unit: "grapheme-ascii" }) },
    { weight: 1, arbitrary: fc.string({ maxLength: 900, unit: "grapheme-ascii" }) },
  ),
  number: fc.integer(),
  decimal: fc.constant("12.50"),
  boolean: fc.boolean(),
  timestamp: fc.constant("now"),
  json: fc.constant({ a: [1, "x"] }),
  enum: fc.constant("x"),
};
const column: fc.Arbitrary<Omit<Column, "name">> = fc
  .constantFrom(...(Object.keys(drawn) as (keyof typeof drawn)[]))
  .chain((kind) =>
    fc.record({ kind: fc.constant(kind), ...flags, default: drawn[kind] as fc.Arbitrary<unknown> }),
  )
  .map((column) => ({
    ...column,
    index: column.index && column.kind !== "json",
    ...(column.kind === "enum" ? { values: ["x", "y"] } : {}),
  }));
const LISTS = [["title"], ["code", "title"], ["kind", "amount", "title"], ["at", "left"]];
const addition = fc.record({
  columns: fc.array(column, { maxLength: 4 }),
  values: fc.subarray(["a", "b", "c", "d", "e"]),
  indexes: fc.subarray(LISTS),
  uniques: fc.subarray([["title"], ["amount", "kind"]]),
  isReversed: fc.boolean(),
});
type Addition = typeof addition extends fc.Arbitrary<infer Value> ? Value : never;

/**
 * Returns the next definition of an owner, with new columns, enum values and indexes. The server rejects unique
 * constraints.
 */
function grow(table: Table, more: Addition, turn: number): Table {
  const values = ["a", "b", "c", "d", "e"].filter(
    (value) => value === "b" || value === "d" || more.values.includes(value),
  );
  const known = table.columns.map((column) => {
    const before = (column["values"] ?? []) as string[];
    return column.name === "kind"
      ? {
          ...column,
          values: ["a", "b", "c", "d", "e"].filter((v) => [...values, ...before].includes(v)),
        }
      : column;
  });
  const added = more.columns.map((column, n) => ({ ...column, name: `n${turn}_${n}` }) as Column);
  const columns = [...known, ...added];
  const lists = [...table.indexes, ...more.indexes].map((list) => JSON.stringify(list));
  return {
    name: table.name,
    columns: more.isReversed ? columns.toReversed() : columns,
    indexes: [...new Set(lists)].map((list) => JSON.parse(list) as string[]),
    uniques: table.uniques,
  };
}

/** Returns the recorded requests: valid requests, invalid requests, and requests that name the owner's additions. */
const requests = (name: string): (Call & { path: string })[] => {
  const path = `/v1/data/db/${name}`;
  const at = (row: number) => `${path}/${ROWS[row]}`;
  const post = (json: unknown) => ({ path, method: "POST", json });
  const patch = (row: number, json: unknown) => ({ path: at(row), method: "PATCH", json });
  return [
    { path },
    { path: `${path}?limit=2&offset=1` },
    { path: at(0) },
    { path: `${path}/${crypto.randomUUID()}` },
    post({ title: "new", parent: ROWS[0] }),
    post({ title: LONG, code: LONG, amount: `${"9".repeat(200)}.5` }),
    post({ title: "again", code: "one" }),
    post({ title: "unknown", left: 5, n0_0: [], n1_1: null, kind: "d" }),
    post({ kind: "a" }),
    post({ title: 1, kind: "c", amount: 2, parent: "x", at: "yesterday", code: {} }),
    post({ title: "dangling", parent: crypto.randomUUID() }),
    patch(0, { title: "changed", n0_0: 1, left: null }),
    patch(1, { code: "one" }),
    patch(1, { kind: null, title: null }),
    patch(1, {}),
    { path, method: "POST", body: "{", headers: { "content-type": "application/json" } },
    { path: `${path}?left=eq.1` },
    { path: at(0), method: "DELETE" },
    { path: at(0), method: "DELETE" },
    { path },
  ];
};

const VARYING = ["date", "x-request-id", "content-length", "ratelimit"];

/** Returns a response without ids and timestamps. */
function toComparable({ status, headers, text }: TestResponse): unknown {
  const mask = (value: string) =>
    value
      .replace(/01[0-9a-f]{6}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>")
      .replace(/"requestId":"[^"]*"/g, "<request>")
      .replace(/^"[0-9a-f]{32}(-zstd)?"$/, "<tag>");
  const compared = [...headers].filter(([name]) => !VARYING.includes(name));
  return [status, compared.map(([name, value]) => [name, mask(value)]), mask(text)];
}

/** Inserts the same rows, sends the same requests, and returns the responses. */
async function record(app: TestApp, name: string, calls: (Call & { path: string })[]) {
  const values = ROWS.map(
    (id, n) => `('${app.id}', '${id}', 'row ${n}', '${["one", "two", "three"][n]}')`,
  );
  await service.service.admin.message(`delete from data.${name} where app_id = '${app.id}';
    insert into data.${name} (app_id, id, title, code) values ${values.join(", ")} returning id`);
  const responses: unknown[] = [];
  for (const { path, ...call } of calls)
    responses.push(toComparable(await service.call(app, path, call)));
  return responses;
}

test("no push by the owner of a shared table changes responses to the other app", async () => {
  let applied = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(addition, { minLength: 1, maxLength: 3 }), async (additions) => {
      const name = freshName();
      const [owner, app] = [await service.makeApp(whole(name)), await service.makeApp(fewer(name))];
      const calls = requests(name);
      const before = await record(app, name, calls);
      let table = definitionOf(whole(name)).tables[0] as unknown as Table;
      for (const [turn, more] of additions.entries()) {
        const next = grow(table, more, turn);
        const response = await postDefinition(service, owner, { version: 1, tables: [next] });
        if (response.status === 200) {
          table = next;
          applied++;
        }
        const uniques = [...next.uniques, ...more.uniques];
        if (more.uniques.length > 0)
          expect(
            (await postDefinition(service, owner, { version: 1, tables: [{ ...next, uniques }] }))
              .status,
          ).not.toBe(200);
        expect(await record(app, name, calls)).toEqual(before);
      }
      expect(await readDrift(service.service.admin)).toEqual([]);
    }),
    drawRuns(12),
  );
  expect(applied).toBeGreaterThanOrEqual(countRuns(8));
}, 120_000);

test("a shared table needs hardly more disk space than an unchanged table", async () => {
  const { name, plain, app, control } = await makeBurdened(service);
  const values = Array.from(
    { length: 600 },
    (_, n) => `('${crypto.randomUUID()}', '${noise(200)}', '${n}${noise(20)}')`,
  );
  const fill = async (user: TestApp, table: string) => {
    const [row] = await service.service.admin.message<{ bytes: number }>(`
      insert into data.${table} (app_id, id, title, code)
        select '${user.id}', id::uuid, title, code from (values ${values.join(", ")}) as v (id, title, code);
      update data.${table} set title = title || '.' where app_id = '${user.id}';
      -- An index without entries has one page.
      select (pg_total_relation_size('data.${table}')
        - (select count(*) from pg_index where indrelid = 'data.${table}'::regclass) * 8192)::int as bytes`);
    return row?.bytes ?? Number.NaN;
  };
  expect(await fill(app, name)).toBeLessThan(2 * (await fill(control, plain)));
});

/** Returns the plan, the result and the status that an owner gets for a table with `rows` rows of another app. */
async function pushWithRows(rows: number) {
  const name = freshName();
  const [owner, other] = [await service.makeApp(whole(name)), await service.makeApp(fewer(name))];
  await service.service.admin.message(`insert into data.${name} (app_id, id, title)
    select '${other.id}', gen_random_uuid(), 'row ' || n from generate_series(1, ${rows}) n`);
  await service.service.admin.message(`analyze data.${name}; select 1`);
  const more = {
    due: t.timestamp().default("now").index(),
    before: t.ref(name, { onDelete: "cascade" }),
    left: t.string().default("left out").index(),
  };
  const definition = definitionOf(defineSchema({ [name]: { ...base(name), ...more } }));
  const request = { app: owner, definition };
  const deps = { admin: service.pushing, log: () => undefined };
  const pushOnce = async (dryRun: boolean) => {
    const options = { dryRun, largeTablePages: 2 };
    const { deferred, ...result } = await pushDefinition(deps, { ...request, options });
    await deferred;
    return result;
  };
  const results = [await pushOnce(true), await pushOnce(false), await pushOnce(false)];
  const status = await service.call(owner, "/v1/data/schema");
  return JSON.stringify([results, status.json])
    .replaceAll(name, "<table>")
    .replaceAll(owner.id, "<owner>")
    .replaceAll(owner.slug, "<owner>")
    .replace(/sha256:[0-9a-f]{64}|(?<=__)[0-9a-f]{16}(?=_)|(?<=')[0-9a-f]{16}(?='::)/g, "<hash>");
}

test("an owner gets the same response for an empty table and a table with many rows of another app", async () => {
  const [small, large] = [await pushWithRows(0), await pushWithRows(2000)];
  expect(large).toBe(small);
  expect(large).toContain('"state":"done"');
});
