/**
 * Handcrafted definitions, sent directly to the endpoint: the server rejects a definition completely or stores it byte
 * for byte, and never runs its text as DDL.
 */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { cases } from "../support/cases.ts";
import { dumpDatabase, freshName, postDefinition, postSchema } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());
const app = await service.makeApp();

const FLAGS = { required: false, unique: false, index: false };
const string = (name: string, more: object = {}) => ({ name, kind: "string", ...FLAGS, ...more });
const table = (columns: unknown, more: object = {}) => ({
  name: "hostile",
  columns,
  indexes: [],
  uniques: [],
  ...more,
});
const define = (...tables: unknown[]) => ({ version: 1, tables });

const TRAPS = [
  ...["id", "app_id", "ID", "App_Id", "ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"],
  ...["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "toJSON"],
  ...["then"],
];
const BROKEN_NAMES = [
  "",
  " ",
  "a b",
  'a"b',
  "a'b",
  "a\\b",
  "a;b",
  "a-b",
  "ä",
  "1a",
  "a\u0000b",
  "a\nb",
  "$t",
  "a".repeat(64),
  'x"; drop schema data cascade; --',
];

const REJECTED: { name: string; definition: unknown }[] = [
  ...[...TRAPS, ...BROKEN_NAMES].map((name) => ({
    name: `column ${JSON.stringify(name)}`,
    definition: define(table([string(name)])),
  })),
  ...[
    "users",
    "files",
    "notifications",
    "audit_log",
    "A",
    "a__b",
    "1a",
    'a"b',
    "a.b",
    "a".repeat(49),
    "",
    "_a",
  ].map((name) => ({
    name: `table ${JSON.stringify(name)}`,
    definition: define(table([string("a")], { name })),
  })),
  {
    name: "a reference to a reserved table",
    definition: define(table([{ name: "a", kind: "ref", ...FLAGS, table: "users" }])),
  },
  {
    name: "a reference to an undeclared table",
    definition: define(table([{ name: "a", kind: "ref", ...FLAGS, table: "elsewhere" }])),
  },
  {
    name: "a reference with SQL as onDelete",
    definition: define(
      table([
        { name: "a", kind: "ref", ...FLAGS, table: "hostile", onDelete: "cascade; drop table x" },
      ]),
    ),
  },
  {
    name: "two columns that differ only in case",
    definition: define(table([string("aa"), string("Aa")])),
  },
  { name: "a duplicate table", definition: define(table([]), table([])) },
  {
    name: "an unknown kind",
    definition: define(table([string("a", { kind: "text; drop table x" })])),
  },
  {
    name: "a kind from the prototype",
    definition: define(table([string("a", { kind: "constructor" })])),
  },
  { name: "an unknown key of a column", definition: define(table([string("a", { sql: "x" })])) },
  {
    name: "a flag that is not a boolean",
    definition: define(table([string("a", { required: "yes" })])),
  },
  { name: "a default of another type", definition: define(table([string("a", { default: 1 })])) },
  {
    name: "a default with U+0000",
    definition: define(table([string("a", { default: "\u0000" })])),
  },
  {
    name: "a default with a lone surrogate",
    definition: define(table([string("a", { default: "\ud800" })])),
  },
  {
    name: "a default over 1 KB",
    definition: define(table([string("a", { default: "x".repeat(1025) })])),
  },
  {
    name: "a decimal default with an exponent",
    definition: define(table([{ name: "a", kind: "decimal", ...FLAGS, default: "1e5" }])),
  },
  {
    name: "an enum without values",
    definition: define(table([{ name: "a", kind: "enum", ...FLAGS, values: [] }])),
  },
  {
    name: "an enum value of 64 bytes",
    definition: define(table([{ name: "a", kind: "enum", ...FLAGS, values: ["x".repeat(64)] }])),
  },
  {
    name: "a repeated enum value",
    definition: define(table([{ name: "a", kind: "enum", ...FLAGS, values: ["a", "a"] }])),
  },
  {
    name: "101 enum values",
    definition: define(
      table([
        {
          name: "a",
          kind: "enum",
          ...FLAGS,
          values: Array.from({ length: 101 }, (_, n) => `v${n}`),
        },
      ]),
    ),
  },
  {
    name: "201 columns",
    definition: define(table(Array.from({ length: 201 }, (_, n) => string(`c${n}`)))),
  },
  {
    name: "17 indexes",
    definition: define(
      table(Array.from({ length: 17 }, (_, n) => string(`c${n}`, { index: true }))),
    ),
  },
  {
    name: "501 tables",
    definition: define(...Array.from({ length: 501 }, (_, n) => table([], { name: `t${n}` }))),
  },
  { name: "an index without columns", definition: define(table([string("a")], { indexes: [[]] })) },
  {
    name: "an index on an undeclared column",
    definition: define(table([string("a")], { indexes: [["b", "a"]] })),
  },
  { name: "columns as an object", definition: define(table({ a: string("a") })) },
  { name: "tables as an object", definition: { version: 1, tables: {} } },
  { name: "version 2", definition: { version: 2, tables: [] } },
  { name: "a missing definition", definition: undefined },
  { name: "null", definition: null },
  { name: "text", definition: "drop schema data" },
];

test.each(REJECTED)(
  "a definition with $name gets 422 and writes nothing",
  async ({ definition }) => {
    const before = await dumpDatabase(service.service.admin);

    const response = await postDefinition(service, app, definition);

    expect(response).toMatchObject({ status: 422, json: { error: "invalid_schema" } });
    expect((response.json as { details: unknown[] }).details.length).toBeGreaterThan(0);
    expect(await dumpDatabase(service.service.admin)).toBe(before);
  },
);

test("the most deeply nested default is pushed, and rows have it", async () => {
  const name = freshName();
  const value = JSON.parse("[".repeat(58) + "]".repeat(58)) as unknown;
  const column = { name: "deep", kind: "json", ...FLAGS, default: value };
  const pushed = await postDefinition(service, app, define({ ...table([column]), name }));
  expect(pushed.status).toBe(200);
  const path = `/v1/data/db/${name}`;
  const created = await service.call(app, path, { method: "POST", json: {} });
  expect(created.json).toMatchObject({ deep: value });
  const sent = await service.call(app, path, { method: "POST", json: { deep: value } });
  expect(sent.status).toBe(201);
});

test("a changed type suggests a retype, unless the column is a reference", async () => {
  const [parent, child] = [freshName(), freshName()];
  const before = { [parent]: { size: t.json() }, [child]: { parent: t.ref(parent) } };
  expect((await postSchema(service, app, defineSchema(before))).status).toBe(200);
  const after = { [parent]: { size: t.number() }, [child]: { parent: t.uuid() } };
  const { json } = await postSchema(service, app, defineSchema(after));
  const { details } = json as { details: { path: string; message: string }[] };
  const suggesting = details.filter(({ message }) => message.includes("rowhouse db retype"));
  expect([details.length, suggesting.map(({ path }) => path)]).toEqual([2, [`/${parent}/size`]]);
});

test("all issues are reported together, each with its table and column", async () => {
  const response = await postDefinition(
    service,
    app,
    define(
      table([string("id"), string("ok"), string("then")]),
      table([string("x", { kind: "blob" })], { name: "users" }),
    ),
    { dryRun: 1, journal: 2, more: 3 },
  );

  const paths = (response.json as { details: { path: string }[] }).details.map(({ path }) => path);
  expect(new Set(paths)).toEqual(
    new Set([
      ...["/hostile/id", "/hostile/then", "/users", "/users/x"].map(
        (path) => `/steps/0/definition${path}`,
      ),
      ...["/dryRun", "/journal", "/more"],
    ]),
  );
});

test.each(cases("name", "body", "status", "error")`
  a megabyte of nesting   | {"definition":${"[".repeat(500_000)}${"]".repeat(500_000)}}      | 400 | invalid_json
  a body over 1 MB        | {"steps":[{"kind":"define","definition":"${"x".repeat(1_048_576)}"}]} | 413 | body_too_large
  an array                | []                                                               | 400 | invalid_json
  a body that is not JSON | drop                                                             | 400 | invalid_json
`)("a push of $name gets $status", async ({ body, status, error }) => {
  const before = await dumpDatabase(service.service.admin);
  const response = await service.call(app, "/v1/data/schema", {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  expect(response).toMatchObject({ status: Number(status), json: { error } });
  expect(await dumpDatabase(service.service.admin)).toBe(before);
});

const NASTY = [
  "'",
  "''",
  "\\",
  "\\'",
  "'; drop schema data cascade; --",
  "$rowhouse$",
  "$rowhouse$; drop table rowhouse.apps; --",
  "$$",
  "$rowhouse_1$ $rowhouse$",
  "--",
  "/*",
  "E'\\x'",
  "%I %s",
  "\r\n",
  "\u2028",
  "{{}}",
  ":a %s $1",
  "\ufeff",
  "😀",
];

test.each(NASTY.map((text) => ({ text, name: JSON.stringify(text) })))(
  "a default and an enum value $name are returned byte for byte",
  async ({ text }) => {
    const name = freshName();
    const label = text.trim() === "" ? "x" : text;
    const definition = define({
      name,
      columns: [
        string("plain", { default: text }),
        { name: "value", kind: "json", ...FLAGS, default: { [text]: [text] } },
        { name: "label", kind: "enum", ...FLAGS, values: ["first", label], default: label },
      ],
      indexes: [],
      uniques: [],
    });
    const pushed = await postDefinition(service, app, definition);
    expect(pushed.text).toContain('"applied"');

    const created = await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: {} });

    const wanted = { plain: text, value: { [text]: [text] }, label };
    expect(created.json).toMatchObject(wanted);
    const many = await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: [{}, {}] });
    expect(many.json).toMatchObject({ rows: [wanted, wanted] });
    expect(await postDefinition(service, app, definition)).toMatchObject({
      json: { status: "unchanged" },
    });
  },
);

test("an app's key cannot add a unique constraint to other apps' rows, regardless of the flag", async () => {
  const name = freshName();
  const columns = [string("label")];
  const schema = (more: object) => define(table([{ ...columns[0], ...more }], { name }));
  const [owner, other] = [await service.makeApp(), await service.makeApp()];
  for (const app of [owner, other]) await postDefinition(service, app, schema({}));
  const path = `/v1/data/db/${name}`;
  for (const _ of [1, 2])
    await service.call(other, path, { method: "POST", json: { label: "dup" } });
  const push = (more: object) => postDefinition(service, owner, schema({ unique: true }), more);
  const plain = await push({});
  expect([plain.status, plain.json]).toMatchObject([409, { error: "incompatible_schema" }]);
  const flagged = await push({ sharedUnique: true });
  expect([flagged.status, flagged.json]).toMatchObject([422, { error: "invalid_schema" }]);
  expect(plain.text + flagged.text).not.toContain(other.slug);
  const again = await service.call(other, path, { method: "POST", json: { label: "dup" } });
  expect(again.status).toBe(201);
});

test("an app has a limited number of references to one table, because they slow down every app's deletes", async () => {
  const [shared, free] = [freshName(), freshName()];
  const app = await service.makeApp();
  const target = { name: t.string() };
  const refer = (count: number, to: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`ref_${n}`, t.ref(to)]));
  // A table can have 16 indexes, one for each reference.
  const references = Object.fromEntries(
    Array.from({ length: 6 }, () => [freshName(), refer(16, shared)]),
  );
  const last = freshName();
  const schema = (count: number, more: object = {}) =>
    defineSchema({ [shared]: target, [last]: refer(count, shared), ...more });

  expect((await postSchema(service, app, schema(4, references))).json).toMatchObject({
    status: "applied",
  });
  const rejected = await postSchema(service, app, schema(6));
  expect([rejected.status, rejected.json]).toMatchObject([
    409,
    {
      error: "incompatible_schema",
      details: [
        {
          path: `/${last}/ref_4`,
          message: expect.stringContaining(
            `102 references to ${shared}, but an app has at most 100 `,
          ),
        },
      ],
    },
  ]);
  // Tables without references to the shared table have no such limit.
  const others = { [free]: { to: t.ref(last), at: t.ref(free) } };
  expect((await postSchema(service, app, schema(4, others))).json).toMatchObject({
    status: "applied",
  });
});

test("a table accepts fewer references from another app, and max a hundred from all other apps", async () => {
  const shared = freshName();
  const target = { name: t.string() };
  await service.makeApp(defineSchema({ [shared]: target }));
  const refer = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`ref_${n}`, t.ref(shared)]));
  const pushRefs = async (counts: number[], app?: TestApp) => {
    const tables = counts.map((count) => [freshName(), refer(count)]);
    const schema = defineSchema({ [shared]: target, ...Object.fromEntries(tables) });
    return await postSchema(service, app ?? (await service.makeApp()), schema);
  };
  const wants = (message: string) => ({
    status: 409,
    json: { details: [{ message: expect.stringContaining(message) }] },
  });

  const first = await service.makeApp();
  expect(await pushRefs([10, 11], first)).toMatchObject(
    wants(`21 references to ${shared}, but an app has at most 20 `),
  );
  expect(await pushRefs([10, 10], first)).toMatchObject({ status: 200 });
  expect(await pushRefs([1], first)).toMatchObject(
    wants(`21 references to ${shared}, but an app has at most 20 `),
  );
  for (let n = 0; n < 3; n++) expect(await pushRefs([10, 10])).toMatchObject({ status: 200 });
  expect(await pushRefs([10, 9])).toMatchObject({ status: 200 });
  expect(await pushRefs([2])).toMatchObject(
    wants(`2 more references to ${shared}, but that table has at most 100 `),
  );
  expect(await pushRefs([1])).toMatchObject({ status: 200 });
});
