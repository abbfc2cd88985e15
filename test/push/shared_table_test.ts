/**
 * Two apps on one table: whatever its owner adds, every request of the other app is answered byte for byte as before, takes
 * no longer than on a table that nobody touched, and fills no more of the disk. Pushes are drawn by fast-check.
 *
 * @module
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { push, readDrift } from "../../src/push/mod.ts";
import { eventually } from "../support/eventually.ts";
import { freshName, postDefinition } from "../support/push.ts";
import {
  type Answer,
  type Call,
  definitionOf,
  openTestService,
  type TestApp,
  type TestService,
} from "../support/service.ts";
import { countRuns } from "../support/tier.ts";

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
      .replace(/"requestId":"[^"]*"/g, "<request>")
      .replace(/^"[0-9a-f]{32}(-zstd)?"$/, "<tag>");
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
    { numRuns: countRuns(12) },
  );
  expect(applied).toBeGreaterThanOrEqual(countRuns(8));
}, 120_000);

/** Text that does not compress. */
const noise = (length: number) =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(length)))
    .toString("base64")
    .slice(0, length);

/** What costs the other app most: as many columns, defaults and indexes as fit, on its own columns and on common ones. */
function burden(table: Table, text: { length: number; count: number }): Table {
  const one = { required: false, unique: false, index: false };
  const texts = Array.from({ length: text.count }, (_, n) => ({
    ...one,
    name: `text${n}`,
    kind: "string",
    default: noise(text.length),
  }));
  const times = [0, 1, 2, 3].map((n) => ({
    ...one,
    name: `time${n}`,
    kind: "timestamp",
    default: "now",
  }));
  const refs = [0, 1, 2].map((n) => ({
    ...one,
    name: `ref${n}`,
    kind: "ref",
    table: table.name,
    onDelete: "cascade",
  }));
  const columns = [...table.columns, ...texts, ...times, ...refs];
  const empty = Array.from({ length: 200 - columns.length }, (_, n) => ({
    ...one,
    name: `empty${n}`,
    kind: "string",
  }));
  const own = ["text0", "text1", "time0", "time1", "time2", "time3"];
  const common = [
    ["title", "code"],
    ["code", "title"],
    ["at", "amount", "title"],
    ["kind", "title"],
  ];
  const lists = own.map((name, n) => [name, own[(n + 1) % own.length] ?? "title", "title", "code"]);
  return {
    ...table,
    columns: [...columns, ...empty],
    // The table has a reference and a unique constraint, which count too.
    indexes: [...common, ...lists, ["title", "text0"]],
  };
}

/** An app and its rows on a table that the owner burdens as it can, and the same on one that nobody touches. */
async function makeBurdened() {
  const [name, alone] = [freshName(), freshName()];
  const owner = await service.makeApp(whole(name));
  await service.makeApp(whole(alone));
  const [app, control] = [await service.makeApp(fewer(name)), await service.makeApp(fewer(alone))];
  const table = definitionOf(whole(name)).tables[0] as unknown as Table;
  const pushTable = (tables: Table[]) => postDefinition(service, owner, { version: 1, tables });
  const long = burden(table, { length: 255, count: 30 });
  expect(await pushTable([long])).toMatchObject({ status: 409 });
  const pushed = await pushTable([burden(table, { length: 50, count: 4 })]);
  expect(pushed.json).toMatchObject({ status: "applied" });
  await eventually(async () => {
    const { json } = await service.call(owner, "/v1/data/schema");
    const steps = (json as { deferredSteps: { state: string }[] }).deferredSteps;
    return steps.length === 17 && steps.every(({ state }) => state === "done");
  });
  return { name, alone, app, control };
}

test("and fills hardly more of the disk than on an untouched table", async () => {
  const { name, alone, app, control } = await makeBurdened();
  const values = Array.from(
    { length: 600 },
    (_, n) => `('${crypto.randomUUID()}', '${noise(200)}', '${n}${noise(20)}')`,
  );
  const fill = async (one: TestApp, table: string) => {
    const [row] = await service.service.admin.message<{ bytes: number }>(`
      insert into data.${table} (app_id, id, title, code)
        select '${one.id}', id::uuid, title, code from (values ${values.join(", ")}) as v (id, title, code);
      update data.${table} set title = title || '.' where app_id = '${one.id}';
      -- An index takes a page before it has an entry.
      select (pg_total_relation_size('data.${table}')
        - (select count(*) from pg_index where indrelid = 'data.${table}'::regclass) * 8192)::int as bytes`);
    return row?.bytes ?? Number.NaN;
  };
  expect(await fill(app, name)).toBeLessThan(2 * (await fill(control, alone)));
});

test("and as fast as on an untouched table", async () => {
  const { name, alone, app, control } = await makeBurdened();
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
    const list = `/v1/data/db/${path}`;
    const post = (json: object) => service.call(one, list, { method: "POST", json });
    const startedAt = performance.now();
    const long = await post({ title: LONG });
    const short = await post({ title: "short" });
    const answers = [
      long,
      short,
      await service.call(one, `${list}?limit=20`),
      await service.call(one, `${list}/${first}`),
      await service.call(one, `${list}/${first}`, { method: "PATCH", json: { title: "next" } }),
    ];
    for (const { headers } of [long, short])
      answers.push(await service.call(one, headers.get("location") ?? "", { method: "DELETE" }));
    times[who].push(performance.now() - startedAt);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 200, 200, 200, 204, 204]);
  };
  for (let round = 0; round < 25; round++) {
    await measure("app");
    await measure("control");
  }
  const median = (list: number[]) => list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0;
  expect(median(times.app)).toBeLessThan(2 * median(times.control));
}, 60_000);

/** What an owner is told of a push to a table of `rows` rows of another app: the plan, the result and the status. */
async function pushBeside(rows: number) {
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
  const say = async (dryRun: boolean) => {
    const options = { dryRun, largeTablePages: 2 };
    const { deferred, ...told } = await push(deps, { ...request, options });
    await deferred;
    return told;
  };
  const told = [await say(true), await say(false), await say(false)];
  const status = await service.call(owner, "/v1/data/schema");
  return JSON.stringify([told, status.json])
    .replaceAll(name, "<table>")
    .replaceAll(owner.id, "<owner>")
    .replaceAll(owner.slug, "<owner>")
    .replace(/sha256:[0-9a-f]{64}|(?<=__)[0-9a-f]{16}(?=_)|(?<=')[0-9a-f]{16}(?='::)/g, "<hash>");
}

test("an owner is told the same whether the table is large with another app's rows or empty", async () => {
  const [small, large] = [await pushBeside(0), await pushBeside(2000)];
  expect(large).toBe(small);
  expect(large).toContain('"state":"done"');
});
