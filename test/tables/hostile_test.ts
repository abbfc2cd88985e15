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

/** Each rule of the definition has its test beside `src/schema/`; here is what every rejection has in common. */
const REJECTED = {
  "a trap as a column": define(table([string("__proto__")])),
  "SQL as a column": define(table([string('x"; drop schema data cascade; --')])),
  "SQL as a table": define(table([string("a")], { name: 'a"b' })),
  "SQL as onDelete": define(
    table([{ name: "a", kind: "ref", ...FLAGS, table: "hostile", onDelete: "cascade; drop x" }]),
  ),
  "SQL as a kind": define(table([string("a", { kind: "text; drop table x" })])),
  "a default with U+0000": define(table([string("a", { default: "\u0000" })])),
  "a missing definition": undefined,
  text: "drop schema data",
};

test.each(Object.entries(REJECTED))("%s gets 422 and writes nothing", async (_, definition) => {
  const before = await dumpDatabase(service.service.admin);

  const response = await postDefinition(service, app, definition);

  expect(response).toMatchObject({ status: 422, json: { error: "invalid_schema" } });
  expect((response.json as { details: unknown[] }).details.length).toBeGreaterThan(0);
  expect(await dumpDatabase(service.service.admin)).toBe(before);
});

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

test("defaults and enum values are returned byte for byte", async () => {
  const tables = NASTY.map((text) => {
    const label = text.trim() === "" ? "x" : text;
    const columns = [
      string("plain", { default: text }),
      { name: "value", kind: "json", ...FLAGS, default: { [text]: [text] } },
      { name: "label", kind: "enum", ...FLAGS, values: ["first", label], default: label },
    ];
    const wanted = { plain: text, value: { [text]: [text] }, label };
    return { wanted, declared: table(columns, { name: freshName() }) };
  });
  const definition = define(...tables.map(({ declared }) => declared));
  const push = () => postDefinition(service, app, definition);
  expect((await push()).text).toContain('"applied"');
  for (const { declared, wanted } of tables)
    for (const json of [{}, [{}, {}]]) {
      const path = `/v1/data/db/${declared.name}`;
      const created = await service.call(app, path, { method: "POST", json });
      expect(created.json).toMatchObject("length" in json ? { rows: [wanted, wanted] } : wanted);
    }
  expect(await push()).toMatchObject({ json: { status: "unchanged" } });
});

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
