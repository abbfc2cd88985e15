/**
 * Two apps on one table: whatever its owner adds, every request of the other app is answered byte for byte as before, and
 * takes no longer than on a table that nobody touched. Pushes are drawn by fast-check.
 *
 * @module
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { readDrift } from "../../src/push/mod.ts";
import { freshName, postDefinition } from "../support/push.ts";
import {
  type Answer,
  type Call,
  definitionOf,
  openTestService,
  type TestApp,
  type TestService,
} from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

const ROWS = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`);
const LONG = Buffer.from(crypto.getRandomValues(new Uint8Array(9000))).toString("base64");

/** What both apps declare; the other app leaves `left` out. */
const base = (name: string) => ({
  title: t.string().required(),
  kind: t.enum(["b", "d"]).required().default("b"),
  code: t.string().unique(),
  amount: t.decimal().default("1.50"),
  note: t.json(),
  parent: t.ref(name, { onDelete: "cascade" }),
  at: t.timestamp().default("2026-01-02T03:04:05Z"),
});
const whole = (name: string) =>
  defineSchema({ [name]: { ...base(name), left: t.string().default("left out") } });
const fewer = (name: string) => defineSchema({ [name]: base(name) });

type Column = { name: string; kind: string } & Record<string, unknown>;
type Table = { name: string; columns: Column[]; indexes: string[][]; uniques: string[][] };

const flags = { required: fc.boolean(), index: fc.boolean(), unique: fc.constant(false) };
const drawn = {
  string: fc.string({ maxLength: 900, unit: "grapheme-ascii" }),
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
  .map((one) => ({
    ...one,
    index: one.index && one.kind !== "json",
    ...(one.kind === "enum" ? { values: ["x", "y"] } : {}),
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

/** What an owner may declare next: new columns, values of an enum and indexes; uniques are refused. */
function grow(table: Table, more: Addition, turn: number): Table {
  const values = ["a", "b", "c", "d", "e"].filter(
    (value) => value === "b" || value === "d" || more.values.includes(value),
  );
  const known = table.columns.map((one) => {
    const before = (one["values"] ?? []) as string[];
    return one.name === "kind"
      ? {
          ...one,
          values: ["a", "b", "c", "d", "e"].filter((v) => [...values, ...before].includes(v)),
        }
      : one;
  });
  const added = more.columns.map((one, n) => ({ ...one, name: `n${turn}_${n}` }) as Column);
  const columns = [...known, ...added];
  const lists = [...table.indexes, ...more.indexes].map((list) => JSON.stringify(list));
  return {
    name: table.name,
    columns: more.isReversed ? columns.toReversed() : columns,
    indexes: [...new Set(lists)].map((list) => JSON.parse(list) as string[]),
    uniques: table.uniques,
  };
}

/** The requests that are recorded: good ones, bad ones, and ones that name what the owner adds. */
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

/** An answer without what no two answers share. */
function toComparable({ status, headers, text }: Answer): unknown {
  const mask = (words: string) =>
    words
      .replace(/01[0-9a-f]{6}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>")
      .replace(/"requestId":"[^"]*"/g, "<request>");
  const kept = [...headers].filter(([name]) => !VARYING.includes(name));
  return [status, kept.map(([name, value]) => [name, mask(value)]), mask(text)];
}

/** The same rows, then the same requests: what was answered. */
async function record(app: TestApp, name: string, asked: (Call & { path: string })[]) {
  const values = ROWS.map(
    (id, n) => `('${app.id}', '${id}', 'row ${n}', '${["one", "two", "three"][n]}')`,
  );
  await service.service.admin.message(`delete from data.${name} where app_id = '${app.id}';
    insert into data.${name} (app_id, id, title, code) values ${values.join(", ")} returning id`);
  const answers: unknown[] = [];
  for (const { path, ...call } of asked)
    answers.push(toComparable(await service.call(app, path, call)));
  return answers;
}

test("whatever the owner of a shared table pushes, the other app is answered as before", async () => {
  let applied = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(addition, { minLength: 1, maxLength: 3 }), async (additions) => {
      const name = freshName();
      const [owner, app] = [await service.makeApp(whole(name)), await service.makeApp(fewer(name))];
      const asked = requests(name);
      const before = await record(app, name, asked);
      let table = definitionOf(whole(name)).tables[0] as unknown as Table;
      for (const [turn, more] of additions.entries()) {
        const next = grow(table, more, turn);
        const answer = await postDefinition(service, owner, { version: 1, tables: [next] });
        if (answer.status === 200) {
          table = next;
          applied++;
        }
        const uniques = [...next.uniques, ...more.uniques];
        if (more.uniques.length > 0)
          expect(
            (await postDefinition(service, owner, { version: 1, tables: [{ ...next, uniques }] }))
              .status,
          ).not.toBe(200);
        expect(await record(app, name, asked)).toEqual(before);
      }
      expect(await readDrift(service.service.admin)).toEqual([]);
    }),
    { numRuns: 12 },
  );
  expect(applied).toBeGreaterThan(8);
}, 120_000);

test("and as fast as on an untouched table", async () => {
  const [name, alone] = [freshName(), freshName()];
  const owner = await service.makeApp(whole(name));
  await service.makeApp(whole(alone));
  const [app, control] = [await service.makeApp(fewer(name)), await service.makeApp(fewer(alone))];
  const table = definitionOf(whole(name)).tables[0] as unknown as Table;
  const columns = Array.from({ length: 190 }, (_, n) => ({
    name: `n${n}`,
    kind: "string",
    required: true,
    unique: false,
    index: n < 8,
    default: "x".repeat(40),
  }));
  const grown = { ...table, columns: [...table.columns, ...columns], indexes: LISTS };
  const pushed = await postDefinition(service, owner, { version: 1, tables: [grown] });
  expect(pushed.json).toMatchObject({ status: "applied" });

  const [first] = ROWS;
  for (const [one, of] of [
    [app, name],
    [control, alone],
  ] as const)
    await service.service.admin.message(`insert into data.${of} (app_id, id, title)
      select '${one.id}', case n when 1 then '${first}' else gen_random_uuid() end::uuid, 'row ' || n
      from generate_series(1, 300) n returning id`);

  const times: Record<"app" | "control", number[]> = { app: [], control: [] };
  const measure = async (who: "app" | "control") => {
    const [one, path] = who === "app" ? [app, name] : [control, alone];
    const startedAt = performance.now();
    const list = `/v1/data/db/${path}`;
    const answers = [
      await service.call(one, list),
      await service.call(one, `${list}/${first}`),
      await service.call(one, list, { method: "POST", json: { title: LONG } }),
      await service.call(one, `${list}/${first}`, { method: "PATCH", json: { title: "next" } }),
    ];
    times[who].push(performance.now() - startedAt);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200]);
  };
  for (let round = 0; round < 25; round++) {
    await measure("app");
    await measure("control");
  }
  const median = (list: number[]) => list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0;
  expect(median(times.app)).toBeLessThan(2 * median(times.control) + 5);
}, 60_000);
