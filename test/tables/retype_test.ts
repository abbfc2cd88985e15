/** Retyping a column: the conversion of values, the state after a crash, and requests during the conversion. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Database } from "../../src/db/mod.ts";
import { runAction } from "../../src/records/actions/mod.ts";
import { defineSchema, type NamedColumn, t } from "../../src/schema/mod.ts";
import { showCount } from "../../src/std/count.ts";
import { readTimestamp } from "../../src/std/timestamp.ts";
import { type Change, readDrift } from "../../src/tables/mod.ts";
import { renderBegin } from "../../src/tables/plan/retype_messages.ts";
import { cases } from "../support/cases.ts";
import { postMigrations } from "../support/history.ts";
import {
  dumpDatabase,
  freshName,
  postChange,
  postSchema,
  readMigrations,
} from "../support/push.ts";
import { applyChange } from "../support/push_steps.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { drawRuns } from "../support/tier.ts";

const service = await share(openTestService());

type Type = Extract<Change, { kind: "retype_column" }>["type"];

const retypeOf = (table: string, type: Type, column = "value"): Change => ({
  kind: "retype_column",
  table,
  column,
  type,
});
const change = (app: TestApp, request: Change, more: object = {}) =>
  postChange(service, app, request, more);
const create = (app: TestApp, table: string, json: object) =>
  service.call(app, `/v1/data/db/${table}`, { method: "POST", json });
const listValues = async (app: TestApp, table: string) => {
  const { json } = await service.call(app, `/v1/data/db/${table}`);
  return (json as { rows: { value: unknown }[] }).rows.map(({ value }) => value);
};

/**
 * A value of the first kind is stored, and becomes a value of the second, or prevents the change. All kinds with all values:
 * `test/kinds/conversions_slow.ts`.
 */
const CASES = cases("from", "to", "values", "become", "not")`
  string    | decimal   | ["1", "-007.50", "0", null] | ["1", "-7.50", "0", null] | ["", "1e3", " 1", "1.", "x", "1,5"]
  string    | timestamp | ["2026-01-02T03:04:05Z"] | ["2026-01-02T03:04:05+00:00"] | ["2026-02-30T00:00:00Z", "2026-01-02T03:04:05"]
  json      | integer   | [5, "6"]    | [5, 6]   | [1.5, true]
  timestamp | date      | ["2026-01-02T22:00:00-02:00"] | ["2026-01-03"] | ["2026-01-02T00:00:00+01:00"]
  string    | enum      | ["b"]       | ["b"]    | ["c"]
  enum      | number    | ["1"]       | [1]      | ["a"]
  number    | json      | [1.5, 0]    | [1.5, 0] | [1e50]
`;
const list = (json: string) => JSON.parse(json) as unknown[];

test.each(CASES.map((row) => ({ ...row, name: `${row.values} as ${row.to}` })))(
  "$name",
  async (row) => {
    const values = list(row.values);
    const from = row.from === "enum" ? t.enum(["a", "1"]) : t[row.from as "string"]();
    const to = (
      row.to === "enum" ? { kind: "enum", values: ["a", "b"] } : { kind: row.to }
    ) as Type;
    const name = freshName();
    const app = await service.makeApp(defineSchema({ [name]: { value: from as never } }));
    for (const value of values) await create(app, name, { value });
    const not = list(row.not).map((value) => ({ value }));
    if (not.length > 0) {
      const created = await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: not });
      expect(created.status).toBe(201);
      const rejected = await change(app, retypeOf(name, to));
      const count = `${not.length} of this app's ${showCount(values.length + not.length, "row")}`;
      expect([rejected.status, rejected.text]).toEqual([409, expect.stringContaining(count)]);
      expect(rejected.text).toContain("a value that does not convert");
      const { rows } = created.json as { rows: { id: string }[] };
      for (const { id } of rows)
        await service.call(app, `/v1/data/db/${name}/${id}`, { method: "DELETE" });
    }
    expect((await change(app, retypeOf(name, to))).json).toMatchObject({
      status: "applied",
      rows: { rows: values.length, values: 0 },
    });
    expect(await listValues(app, name)).toEqual(list(row.become));
  },
);

test("the tables of all these types are as recorded", async () => {
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("text converts to a timestamp exactly if a write accepts it", async () => {
  const field = (max: number) =>
    fc.integer({ min: 0, max }).map((value) => `${value}`.padStart(2, "0"));
  const text = fc
    .tuple(
      fc.constantFrom("0000-12-31", "0001-01-01", "2026-01-02", "2026-02-30", "9999-12-31"),
      ...[field(25), field(61), field(61)],
      fc.oneof(
        fc.constantFrom("", ".1", ".123456", ".9999995", ".999999999", ".1234567890"),
        fc.stringMatching(/^[0-9]{7,9}$/).map((digits) => `.${digits}`),
        fc.stringMatching(/^[0-9]{6}$/).map((digits) => `.${digits}5`),
      ),
      fc.oneof(fc.constant("Z"), fc.tuple(fc.constantFrom("+", "-"), field(16), field(61))),
    )
    .map(([day, hour, minute, second, fraction, offset]) => {
      const zone = typeof offset === "string" ? offset : `${offset[0]}${offset[1]}:${offset[2]}`;
      return `${day}T${hour}:${minute}:${second}${fraction}${zone}`;
    });
  const texts = [
    ...["2026-01-02T24:00:00Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04Z", "now", "infinity"],
    ...fc.sample(text, drawRuns(20_000)),
  ];
  const wanted = texts.map((text) => readTimestamp(text) ?? null);
  const differing = await service.query<{ text: string }>(
    `select text from json_array_elements_text($1::text::json) with ordinality as typed (text, nth)
      join json_array_elements_text($2::text::json) with ordinality as wanted (moment, nth) using (nth)
      where rowhouse.read_time(text) is distinct from moment::timestamptz`,
    [JSON.stringify(texts), JSON.stringify(wanted)],
  );
  expect(differing).toEqual([]);
  expect(wanted.filter((moment) => moment !== null).length).toBeGreaterThan(100);
});

test("a retype preserves required, default, index and unique constraint, and replays in another service", async () => {
  const name = freshName();
  const make = (column: unknown) =>
    defineSchema({
      [name]: t.model({ value: column as never, note: t.string() }).index("note", "value" as never),
    });
  const app = await service.makeApp(make(t.string().required().unique().default("0")));
  await create(app, name, { value: "5" });
  await create(app, name, { value: "6.5" });
  const retype = retypeOf(name, { kind: "decimal", default: "1" });
  expect((await change(app, retype)).json).toMatchObject({ status: "applied" });
  expect((await create(app, name, { value: "5.0" })).json).toMatchObject({
    error: "unique_violation",
  });
  expect((await create(app, name, {})).json).toMatchObject({ value: "1" });
  expect((await create(app, name, { value: null })).status).toBe(422);
  const now = make(t.decimal().required().unique().default("1"));
  expect((await postSchema(service, app, now)).json).toMatchObject({ status: "unchanged" });
  expect(await readDrift(service.service.admin)).toEqual([]);

  await using other = await openTestService();
  const there = await other.makeApp();
  for (const { text } of await readMigrations(service, app))
    expect((await postMigrations({ service: other, app: there }, [text], now)).json).toMatchObject({
      status: "applied",
    });
  expect((await postSchema(other, there, now)).json).toMatchObject({ status: "unchanged" });
  expect(await readDrift(other.service.admin)).toEqual([]);
});

test("a retype without a default reports in its plan and its result that the column loses its default", async () => {
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: { value: t.string().default("0") } }));
  for (const dryRun of [true, false]) {
    const { json } = await change(app, retypeOf(name, { kind: "decimal" }), { dryRun });
    expect(json).toMatchObject({
      notes: expect.arrayContaining([`DEFAULT: ${name}.value loses its default`]),
    });
  }
  expect((await create(app, name, {})).json).toMatchObject({ value: null });
});

test("unique values that become equal are rejected, and the column remains", async () => {
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: { value: t.string().unique() } }));
  for (const value of ["1", "1.0"]) await create(app, name, { value });
  const rejected = await change(app, retypeOf(name, { kind: "decimal" }));
  expect(rejected).toMatchObject({ status: 409, json: { error: "incompatible_schema" } });
  expect(await listValues(app, name)).toEqual(["1", "1.0"]);
  // The retype has ended: other changes are possible.
  const rename = { kind: "rename_column", table: name, column: "value", to: "text" } as const;
  expect((await change(app, rename)).json).toMatchObject({ status: "applied" });
  expect(await readDrift(service.service.admin)).toEqual([]);
});

/** Creates the state of a killed command that has copied no row: `value` is to become a decimal. */
async function beginRetype(app: TestApp, table: string): Promise<void> {
  const column = (kind: "string" | "decimal"): NamedColumn => ({
    ...{ name: "value", kind, required: false, unique: false, index: false },
  });
  const swap = {
    ...({ kind: "swap_column", appId: app.id, table } as const),
    before: column("string"),
    column: column("decimal"),
  };
  const begun = retypeOf(table, { kind: "decimal" });
  await service.pushing.message(renderBegin(swap, { change: begun, lock: "select 1" }));
}

test("an interrupted retype is not drift, blocks other changes, and continues or is canceled", async () => {
  const name = freshName();
  const app = await service.makeApp(
    defineSchema({ [name]: { value: t.string(), note: t.string() } }),
  );
  await create(app, name, { value: "1" });
  const retype = retypeOf(name, { kind: "decimal" });
  const begin = () => beginRetype(app, name);
  await begin();
  expect(await readDrift(service.service.admin)).toEqual([]);
  await create(app, name, { value: "2" });
  const grown = defineSchema({ [name]: { value: t.string(), note: t.string(), more: t.number() } });
  expect((await postSchema(service, app, grown)).json).toMatchObject({ status: "applied" });
  const blocked = await change(app, { kind: "drop_column", table: name, column: "note" });
  expect(blocked.text).toContain(
    `a retype in ${name} is not finished: retype ${name}.value to decimal`,
  );

  expect((await change(app, retype)).json).toMatchObject({ status: "applied" });
  expect(await listValues(app, name)).toEqual(["1", "2"]);
  expect((await change(app, retypeOf(name, { kind: "string" }))).json).toMatchObject({
    status: "applied",
  });
  await begin();
  expect((await change(app, retypeOf(name, { kind: "string" }))).json).toMatchObject({
    status: "unchanged",
    notes: [expect.stringContaining("CANCELED")],
  });
  const dropped = await change(app, { kind: "drop_column", table: name, column: "note" });
  expect(dropped.json).toMatchObject({ status: "applied" });
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("a transferred table's new owner cancels a retype", async () => {
  const name = freshName();
  const schema = defineSchema({ [name]: { value: t.string() } });
  const app = await service.makeApp(schema);
  const next = await service.makeApp(schema);
  await beginRetype(app, name);
  await runAction(service.service, "transfer_table", { wanted_table: name, new_slug: next.slug });
  const cancel = retypeOf(name, { kind: "string" });
  expect((await change(next, cancel)).json).toMatchObject({ status: "unchanged" });
  const renamed = { kind: "rename_table", table: name, to: freshName() } as const;
  expect((await change(next, renamed)).text).not.toContain("is not finished");
});

test("a concurrently written value that does not convert ends the retype", async () => {
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: { value: t.string() } }));
  await create(app, name, { value: "1" });
  const retype = retypeOf(name, { kind: "decimal" });
  await beginRetype(app, name);
  await create(app, name, { value: "x" });
  const before = await dumpDatabase(service.service.admin);
  const rejected = await change(app, retype);
  expect(rejected.text).toContain("1 of this app's 2 rows has a value that does not convert");
  expect(await dumpDatabase(service.service.admin)).toBe(before);
});

test("other apps' rows and responses remain unchanged, despite hidden defaults in their rows", async () => {
  const name = freshName();
  const owner = await service.makeApp(
    defineSchema({ [name]: { title: t.string(), value: t.string().required().default("none") } }),
  );
  const sharing = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  await create(sharing, name, { title: "theirs" });
  await create(owner, name, { title: "own", value: "5" });
  const list = await service.call(sharing, `/v1/data/db/${name}`);
  expect((await change(owner, retypeOf(name, { kind: "number" }))).text).toContain(
    "give it a default",
  );
  const retype = retypeOf(name, { kind: "number", default: 0 });
  expect((await change(owner, retype)).json).toMatchObject({
    status: "applied",
    rows: { rows: 1 },
  });
  expect((await service.call(sharing, `/v1/data/db/${name}`)).text).toBe(list.text);
  expect((await create(sharing, name, { title: "more" })).status).toBe(201);
  expect(await listValues(owner, name)).toEqual([5]);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

/** The pool of a process that does something, or is killed, before a message. */
function before(act: (text: string) => Promise<void>): Database {
  const { pushing } = service;
  return {
    ...pushing,
    message: async (text, options) => {
      await act(text);
      return await pushing.message(text, options);
    },
  };
}

const KILLED = new Error("killed");

test.each([
  { name: "", isCanceled: false },
  { name: ", after the retype was canceled", isCanceled: true },
])(
  "a write survives between two runs of a retype, wherever the second is killed$name",
  async ({ isCanceled }) => {
    const runs: string[] = [];
    for (let nth = 0; runs.at(-1) !== "done"; nth++) {
      const name = freshName();
      const app = await service.makeApp(defineSchema({ [name]: { value: t.number() } }));
      const created = await create(app, name, { value: 1 });
      const retype = retypeOf(name, { kind: "string" });
      const run = (admin: Database, request = retype) =>
        applyChange(
          { admin, log: () => undefined },
          { app, change: request, options: { dryRun: false } },
        );
      let isInterrupted = false;
      const interrupted = before(async (text) => {
        if (isInterrupted || !text.includes("rowhouse.record_push(")) return;
        isInterrupted = true;
        const path = created.headers.get("location") ?? "";
        expect(
          (await service.call(app, path, { method: "PATCH", json: { value: 2 } })).status,
        ).toBe(200);
        if (isCanceled) await run(service.pushing, retypeOf(name, { kind: "number" }));
        let count = 0;
        const second = before(async () => {
          if (count++ === nth) throw KILLED;
        });
        runs.push(
          await run(second).then(
            () => "done",
            (error: unknown) => {
              if (error !== KILLED) throw error;
              return "killed";
            },
          ),
        );
      });
      await run(interrupted).catch((error: unknown) => {
        if (!isCanceled) throw error;
        expect(String(error)).toContain("another request has canceled it");
      });
      expect([nth, (await listValues(app, name)).map(String)]).toEqual([nth, ["2"]]);
    }
    // It is killed before each of its messages.
    expect(runs.length).toBeGreaterThan(isCanceled ? 5 : 4);
    expect(await readDrift(service.service.admin)).toEqual([]);
  },
);

test("rows written during a long retype are all converted, and no request fails with 5xx", async () => {
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: { value: t.string() } }));
  for (let n = 0; n < 5; n++)
    await service.call(app, `/v1/data/db/${name}`, {
      method: "POST",
      json: Array.from({ length: 1000 }, (_, index) => ({ value: `${n}${index}` })),
    });
  const { json } = await service.call(app, `/v1/data/db/${name}?limit=50`);
  const { rows } = json as { rows: { id: string }[] };
  const statuses: number[] = [];
  let isOver = false;
  const writers = [0, 1, 2].map(async (writer) => {
    for (let n = 0; !isOver; n++) {
      const { id } = rows[(n * 3 + writer) % rows.length] ?? { id: "" };
      const path = `/v1/data/db/${name}`;
      const patched = await service.call(app, `${path}/${id}`, {
        method: "PATCH",
        json: { value: `${n}` },
      });
      const created = await create(app, name, { value: `${n}` });
      const found = await service.call(app, `${path}/${id}`);
      statuses.push(patched.status, created.status, found.status);
    }
  });
  const deps = { admin: service.pushing, log: () => undefined };
  const options = { dryRun: false };
  await applyChange(deps, { app, change: retypeOf(name, { kind: "decimal" }), options });
  await applyChange(deps, { app, change: retypeOf(name, { kind: "string" }), options });
  isOver = true;
  await Promise.all(writers);
  expect([...new Set(statuses)].sort()).toEqual([200, 201, 422].slice(0, new Set(statuses).size));
  const [row] = await service.service.admin.message<{ missing: string; rows: string }>(
    `select count(*) filter (where value is null)::text as missing, count(*)::text as rows from data."${name}"`,
  );
  const createdRows = statuses.filter((status) => status === 201).length;
  expect(row).toEqual({ missing: "0", rows: String(5000 + createdRows) });
  expect(await readDrift(service.service.admin)).toEqual([]);
});
