/** Explicit changes of tables: their effect on rows and records, the required permissions, and requests during a change. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { MAX_ROWS } from "../../src/std/limits.ts";
import { readDrift } from "../../src/tables/mod.ts";
import { cases } from "../support/cases.ts";
import { eventually } from "../support/eventually.ts";
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

const service = await share(openTestService());
const other = await share(openTestService());

type AnyChange = { kind: string; table: string } & Record<string, unknown>;

const change = (app: TestApp, request: AnyChange, more: object = {}, at = service) =>
  postChange(at, app, request, more);
const create = (app: TestApp, table: string, json: object) =>
  service.call(app, `/v1/data/db/${table}`, { method: "POST", json });

/** Returns a schema with indexes, an enum type and a reference, all named after columns. */
function makeSchema(name: string, titel: string, rest: object = {}) {
  const columns = {
    [titel]: t.string().required().unique(),
    status: t.enum(["open", "done"]).required().default("open"),
    hours: t.number().index(),
    parent: t.ref(name),
    ...rest,
  };
  return defineSchema({
    [name]: (t.model(columns) as ReturnType<typeof t.model>).index(
      "status" as never,
      titel as never,
    ),
  });
}

test("a rename preserves the values, takes effect immediately, and is recorded as a migration", async () => {
  const name = freshName();
  const app = await service.makeApp(makeSchema(name, "titel"));
  const created = await create(app, name, { titel: "one" });
  const rename = { kind: "rename_column", table: name, column: "titel", to: "title" };

  const planned = await change(app, rename, { dryRun: true });
  expect(planned.json).toMatchObject({
    status: "planned",
    steps: [`rename column ${name}.titel to title`],
    rows: { rows: 1, values: 1 },
  });
  const changed = await change(app, rename);
  expect(changed.json).toMatchObject({ status: "applied", rows: { rows: 1, values: 1 } });

  const { headers } = created;
  const read = await service.call(app, headers.get("location") ?? "");
  expect(read.json).toMatchObject({ title: "one", status: "open" });
  expect(read.json).not.toHaveProperty("titel");
  expect((await create(app, name, { title: "one" })).json).toMatchObject({
    error: "unique_violation",
    details: [{ path: "/title" }],
  });
  const [, migration] = await readMigrations(service, app);
  expect(migration?.text).toContain(`"kind":"rename_column"`);
  expect(migration?.sql).toContain(`rename column "titel" to "title"`);
  expect((await postSchema(service, app, makeSchema(name, "title"))).json).toMatchObject({
    status: "unchanged",
    notes: [],
  });
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("a change resumes a build of its table whose process was killed", async () => {
  const name = freshName();
  const app = await service.makeApp(makeSchema(name, "titel"));
  // Simulates a process that ended before it recorded the end of the build.
  await service.service.admin.message(`insert into rowhouse.deferred_steps
    (app_id, table_name, kind, name, columns, attempts)
    values ('${app.id}', '${name}', 'index', '${name}__hours__idx', '["hours"]', 1); select 1`);
  const rename = { kind: "rename_column", table: name, column: "titel", to: "title" };
  const isBusy = async () => {
    const { status, json } = await change(app, rename);
    expect([200, 409, 503]).toContain(status);
    return Object(json).error === "push_busy";
  };
  await eventually(async () => !(await isBusy()));
  expect((await create(app, name, { title: "one" })).status).toBe(201);
});

test("a dropped column is deleted with its index, type and reference, and can be added again with another type", async () => {
  const name = freshName();
  const app = await service.makeApp(makeSchema(name, "title"));
  await create(app, name, { title: "one", hours: 5 });
  for (const column of ["status", "hours", "parent", "title"])
    expect((await change(app, { kind: "drop_column", table: name, column })).json).toMatchObject({
      status: "applied",
    });

  expect(await readDrift(service.service.admin)).toEqual([]);
  const again = defineSchema({ [name]: { hours: t.decimal(), title: t.json() } });
  expect((await postSchema(service, app, again)).json).toMatchObject({ status: "applied" });
  const list = await service.call(app, `/v1/data/db/${name}`);
  expect(list.json).toMatchObject({ rows: [{ hours: null, title: null }] });
  expect(Object.keys((list.json as { rows: object[] }).rows[0] ?? {})).toEqual([
    "id",
    "app_id",
    "hours",
    "title",
  ]);
});

test("a repeated request whose change is the last migration changes nothing", async () => {
  const name = freshName();
  const app = await service.makeApp(makeSchema(name, "titel"));
  const drop = { kind: "drop_column", table: name, column: "hours" };
  expect((await change(app, drop)).json).toMatchObject({ status: "applied" });
  const before = await dumpDatabase(service.service.admin);
  expect((await change(app, drop)).json).toMatchObject({ status: "unchanged", migration: null });
  expect(await dumpDatabase(service.service.admin)).toBe(before);
});

test("only the owner can change a table, and a shared, a foreign and a missing table get the same response", async () => {
  const [name, foreign, missing] = [freshName(), freshName(), freshName()];
  const columns = { titel: t.string(), note: t.string() };
  await service.makeApp(defineSchema({ [name]: columns, [foreign]: columns }));
  const app = await service.makeApp(defineSchema({ [name]: columns }));
  const before = await dumpDatabase(service.service.admin);
  const responses = await Promise.all(
    [name, foreign, missing].map((table) =>
      change(app, { kind: "drop_column", table, column: "titel" }),
    ),
  );
  const bodies = responses.map(({ status, json }) => {
    const { requestId: _, message, ...body } = json as { requestId: string; message: string };
    return { status, ...body, message: message.replace(/t_[0-9a-f]{12}/g, "TABLE") };
  });
  expect(bodies).toEqual(
    Array(3).fill({
      status: 409,
      error: "incompatible_schema",
      message: expect.stringContaining("this app owns no table TABLE"),
    }),
  );
  expect(await dumpDatabase(service.service.admin)).toBe(before);
});

test("a column that another app declares is rejected without naming the app, and other columns can change", async () => {
  const name = freshName();
  const owner = await service.makeApp(
    defineSchema({ [name]: { titel: t.string(), note: t.string(), rest: t.string() } }),
  );
  const sharing = await service.makeApp(defineSchema({ [name]: { titel: t.string() } }));
  await create(sharing, name, { titel: "theirs" });
  const list = await service.call(sharing, `/v1/data/db/${name}`);
  for (const request of [
    { kind: "rename_column", table: name, column: "titel", to: "title" },
    { kind: "drop_column", table: name, column: "titel" },
  ]) {
    const rejected = await change(owner, request);
    expect(rejected.status).toBe(409);
    expect(rejected.text).toContain(`another app uses ${name}.titel`);
    expect(rejected.text).not.toContain(sharing.slug);
  }
  expect(
    (await change(owner, { kind: "rename_column", table: name, column: "note", to: "text" })).json,
  ).toMatchObject({ status: "applied", rows: { rows: 0, values: 0 } });
  expect(
    (await change(owner, { kind: "drop_column", table: name, column: "rest" })).json,
  ).toMatchObject({ status: "applied" });
  expect((await service.call(sharing, `/v1/data/db/${name}`)).text).toBe(list.text);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test.each(cases("name", "column", "to", "says")`
  a missing column                    | nope  | x      | has no column nope
  a name in use                       | hours | titel  | already has a column titel
  its current name                    | hours | hours  | hours already has this name
  a name that differs only in case    | hours | TITEL  | already has a column titel
  a reserved name                     | hours | app_id | every table already has it; leave it out
  a malformed name                    | hours | a"b    | must be 1 to 63 letters
`)("a rename rejects $name, and changes nothing", async ({ column, to, says }) => {
  const name = freshName();
  const app = await service.makeApp(makeSchema(name, "titel"));
  const before = await dumpDatabase(service.service.admin);
  const rejected = await change(app, { kind: "rename_column", table: name, column, to });
  expect([rejected.status, rejected.text]).toEqual([409, expect.stringContaining(says)]);
  expect(await dumpDatabase(service.service.admin)).toBe(before);
});

test("a malformed change is rejected with every issue", async () => {
  const app = await service.makeApp();
  const wrong = { kind: "rename_column", table: "x".repeat(64), to: 5, from: "a" };
  expect(await change(app, wrong)).toMatchObject({
    status: 422,
    json: {
      error: "invalid_schema",
      details: [
        { path: "/steps/0/change/table", message: "Must have at most 63 characters" },
        { path: "/steps/0/change/column", message: "Missing" },
        { path: "/steps/0/change/to", message: "Must be a string" },
        { path: "/steps/0/change/from", message: "Unknown field" },
      ],
    },
  });
  const choices =
    '"rename_column", "rename_table", "drop_column", "drop_table", "drop_value", "retype_column"';
  expect(await change(app, { kind: "vacuum", table: "t" })).toMatchObject({
    status: 422,
    json: { details: [{ path: "/steps/0/change/kind", message: `Must be one of ${choices}` }] },
  });
});

const UNSTORABLE = { "U+0000": "a\u0000", "a lone surrogate": "a\ud800" };
const NAMED: readonly AnyChange[] = [
  { kind: "rename_column", table: "a", column: "b", to: "c" },
  { kind: "rename_table", table: "a", to: "c" },
  { kind: "drop_column", table: "a", column: "b" },
  { kind: "drop_table", table: "a" },
  { kind: "drop_value", table: "a", column: "b", value: "c" },
  { kind: "retype_column", table: "a", column: "b", type: { kind: "json" } },
];
test.each(
  NAMED.flatMap((change) =>
    Object.keys(change).flatMap((field) =>
      field === "kind" || field === "type"
        ? []
        : Object.entries(UNSTORABLE).map(([text, name]) => ({ change, field, text, name })),
    ),
  ),
)("$text in $field of $change.kind is rejected", async ({ change: valid, field, name }) => {
  const app = await service.makeApp();
  expect(await change(app, { ...valid, [field]: name }, { dryRun: true })).toMatchObject({
    status: 422,
    json: {
      error: "invalid_schema",
      details: [
        { path: `/steps/0/change/${field}`, message: "Must not contain U+0000 or lone surrogates" },
      ],
    },
  });
});

test("a body with any number of errors lists max 200 of them", async () => {
  const app = await service.makeApp();
  const column = { kind: "retype_column", table: "a", column: "b" };
  const values = Array.from({ length: 100_000 }, () => 1);
  const tooMany = await change(app, { ...column, type: { kind: "enum", values } });
  expect(tooMany).toMatchObject({ status: 422, json: { error: "invalid_schema" } });
  expect(Object(tooMany.json).details).toHaveLength(1);
  const keys = Object.fromEntries(values.slice(0, 1000).map((_, n) => [`key${n}`, 1]));
  const unknown = await change(app, { kind: "drop_table", table: "a" }, keys);
  expect(unknown.status).toBe(422);
  const { details } = Object(unknown.json);
  expect(details).toHaveLength(200);
  expect(details.at(-1)).toEqual({
    path: "",
    message: "Cannot list 801 more errors: fix these first",
  });
});

test("a renamed table keeps rows and references to and from it, and its previous name is unknown and free", async () => {
  const [name, to, child] = [freshName(), freshName("u"), freshName("v")];
  const make = (table: string) => ({
    [table]: t.model({ title: t.string().unique(), state: t.enum(["a", "b"]), up: t.ref(table) }),
    [child]: { parent: t.ref(table, { onDelete: "cascade" }).required() },
  });
  const app = await service.makeApp(defineSchema(make(name)));
  const created = await create(app, name, { title: "one", state: "b" });
  const { id } = created.json as { id: string };
  await create(app, child, { parent: id });

  expect((await change(app, { kind: "rename_table", table: name, to })).json).toMatchObject({
    status: "applied",
    steps: [`rename table ${name} to ${to}`],
    rows: { rows: 1 },
  });
  expect(await readDrift(service.service.admin)).toEqual([]);
  expect((await service.call(app, `/v1/data/db/${name}`)).json).toMatchObject({
    error: "unknown_table",
  });
  expect((await service.call(app, `/v1/data/db/${to}/${id}`)).json).toMatchObject({
    title: "one",
    state: "b",
  });
  expect((await create(app, child, { parent: crypto.randomUUID() })).status).toBe(422);
  expect((await postSchema(service, app, defineSchema(make(to)))).json).toMatchObject({
    status: "unchanged",
    notes: [],
  });
  const taken = { kind: "rename_table", table: child, to };
  expect((await change(app, taken)).text).toContain(`the name ${to} is in use`);
  await service.makeApp(defineSchema({ [name]: { other: t.number() } }));
  expect((await service.call(app, `/v1/data/db/${name}`)).status).toBe(404);
  const removed = await service.call(app, `/v1/data/db/${to}/${id}`, { method: "DELETE" });
  expect(removed.status).toBe(204);
  expect((await service.call(app, `/v1/data/db/${child}`)).json).toMatchObject({ rows: [] });
});

test("a dropped table is deleted with its rows, its name is free, and a reference to it blocks the drop", async () => {
  const [name, child] = [freshName(), freshName("v")];
  const app = await service.makeApp(
    defineSchema({
      [name]: { title: t.string().index(), state: t.enum(["a"]) },
      [child]: { parent: t.ref(name) },
    }),
  );
  await create(app, name, { title: "one" });
  const drop = { kind: "drop_table", table: name };
  expect((await change(app, drop)).text).toContain(
    `Cannot drop ${name}: ${child}.parent refers to it; drop ${child}.parent first`,
  );
  await change(app, { kind: "drop_column", table: child, column: "parent" });
  expect((await change(app, drop)).json).toMatchObject({
    status: "applied",
    notes: [`LOST: this app's 1 row in ${name} is deleted`],
  });
  expect((await service.call(app, `/v1/data/db/${name}`)).status).toBe(404);
  expect(await readDrift(service.service.admin)).toEqual([]);
  expect(
    (await postSchema(service, app, defineSchema({ [name]: { title: t.number() } }))).json,
  ).toMatchObject({ status: "applied" });
  expect((await service.call(app, `/v1/data/db/${name}`)).json).toMatchObject({ rows: [] });
  const other = await service.makeApp(defineSchema({ [name]: { title: t.number() } }));
  const rejected = await change(app, drop);
  expect(rejected.text).toContain(`another app uses ${name}`);
  expect(rejected.text).not.toContain(other.slug);
});

test("a dropped value is rejected afterward, even by a process with a stale schema, and rows with the value block the drop", async () => {
  const name = freshName();
  const make = (...values: [string, ...string[]]) =>
    defineSchema({ [name]: { state: t.enum(values).required().default("open") } });
  const app = await service.makeApp(make("open", "old", "done"));
  const created = await create(app, name, { state: "old" });
  const drop = { kind: "drop_value", table: name, column: "state", value: "old" } as const;
  expect((await change(app, drop)).text).toContain("1 of this app's 1 row has this value");
  const path = created.headers.get("location") ?? "";
  await service.call(app, path, { method: "PATCH", json: { state: "done" } });
  const deps = { admin: service.pushing, log: () => undefined };
  await applyChange(deps, { app, change: drop, options: { dryRun: false } });

  expect((await create(app, name, { state: "old" })).status).toBe(422);
  expect((await change(app, { ...drop, value: "open" })).text).toContain("it is the default");
  expect((await change(app, { ...drop, value: "none" })).text).toContain("has no value");
  expect(await readDrift(service.service.admin)).toEqual([]);
  expect((await postSchema(service, app, make("open", "done"))).json).toMatchObject({
    status: "unchanged",
  });
  expect((await postSchema(service, app, make("open", "done", "old"))).json).toMatchObject({
    status: "applied",
  });
  expect((await create(app, name, { state: "old" })).status).toBe(201);
  expect(await readDrift(service.service.admin)).toEqual([]);
});

test("a value that exists only in another app's rows by a default blocks the drop without naming the app", async () => {
  const name = freshName();
  const make = (initial: "a" | "b") =>
    defineSchema({ [name]: { title: t.string(), state: t.enum(["a", "b"]).default(initial) } });
  const app = await service.makeApp(make("a"));
  const sharing = await service.makeApp(defineSchema({ [name]: { title: t.string() } }));
  await create(sharing, name, { title: "theirs" });
  await postSchema(service, app, make("b"));
  const rejected = await change(app, {
    kind: "drop_value",
    table: name,
    column: "state",
    value: "a",
  });
  expect(rejected.json).toMatchObject({
    error: "incompatible_schema",
    message: expect.stringContaining("rows of this app or another app have it"),
  });
});

test("a replayed change leaves another app's table unchanged, and the last definition applies", async () => {
  const name = freshName();
  const app = await service.makeApp(defineSchema({ [name]: { titel: t.string() } }));
  await change(app, { kind: "rename_column", table: name, column: "titel", to: "title" });
  const now = defineSchema({ [name]: { title: t.string() } });
  await other.makeApp(now);
  const there = await other.makeApp();
  for (const { text } of await readMigrations(service, app))
    expect((await postMigrations({ service: other, app: there }, [text], now)).json).toMatchObject({
      status: "applied",
    });
  expect((await postSchema(other, there, now)).json).toMatchObject({ status: "unchanged" });
});

test("a process with a stale schema repeats its calls with the new columns", async () => {
  const name = freshName();
  const app = await service.makeApp(makeSchema(name, "titel", { note: t.string() }));
  const first = await create(app, name, { titel: "one", note: "n" });
  const path = first.headers.get("location") ?? "";
  await service.call(app, `/v1/data/db/${name}`);
  // Change the database directly: the serving process gets no notification.
  const deps = { admin: service.pushing, log: () => undefined };
  const apply = (request: Parameters<typeof applyChange>[1]["change"]) =>
    applyChange(deps, { app, change: request, options: { dryRun: false } });

  await apply({ kind: "rename_column", table: name, column: "titel", to: "title" });
  expect((await service.call(app, path)).json).toMatchObject({ title: "one" });
  await apply({ kind: "rename_column", table: name, column: "title", to: "titel" });
  const patched = await service.call(app, path, { method: "PATCH", json: { titel: "two" } });
  expect([patched.status, patched.json]).toMatchObject([200, { titel: "two" }]);
  await apply({ kind: "drop_column", table: name, column: "note" });
  const created = await create(app, name, { titel: "three", note: "dropped" });
  expect(created.status).toBe(201);
  expect(created.json).not.toHaveProperty("note");
  await apply({ kind: "rename_column", table: name, column: "titel", to: "title" });
  expect((await create(app, name, { titel: "four" })).json).toMatchObject({
    error: "validation_failed",
    details: [{ path: "/title" }],
  });
  await apply({ kind: "drop_column", table: name, column: "hours" });
  const list = await service.call(app, `/v1/data/db/${name}`);
  expect(list.json).toMatchObject({ rows: [{ title: "two" }, { title: "three" }] });
});

test("no request during a change fails with 5xx, and no row is lost", async () => {
  const name = freshName();
  const app = await service.makeApp(
    defineSchema({ [name]: { fixed: t.string().required(), a: t.string() } }),
  );
  const statuses: number[] = [];
  let isOver = false;
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let n = 0; !isOver; n++) {
      const created = await create(app, name, { fixed: `${writer} ${n}`, a: "x", b: "y" });
      const location = created.headers.get("location") ?? "";
      const found = await service.call(app, location);
      const patched = await service.call(app, location, { method: "PATCH", json: { a: "z" } });
      statuses.push(created.status, found.status, patched.status);
    }
  });
  const deps = { admin: service.pushing, log: () => undefined };
  for (let n = 0; n < 6; n++) {
    const [column, to] = n % 2 === 0 ? ["a", "b"] : ["b", "a"];
    const rename = { kind: "rename_column", table: name, column, to } as const;
    if (n % 3 === 0) await change(app, rename);
    else await applyChange(deps, { app, change: rename, options: { dryRun: false } });
  }
  isOver = true;
  await Promise.all(writers);
  expect(new Set(statuses)).toEqual(new Set([201, 200]));
  const { json } = await service.call(app, `/v1/data/db/${name}?limit=${MAX_ROWS}`);
  expect((json as { rows: unknown[] }).rows.length).toBe(
    Math.min(MAX_ROWS, statuses.filter((status) => status === 201).length),
  );
});
