/**
 * Calls of the service's SQL functions: the generated types match the database, and values of every type survive a round
 * trip.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { makeStatement } from "../../src/db/call.ts";
import { KEPT } from "../../src/db/code/mod.ts";
import { FUNCTIONS } from "../../src/db/functions.ts";
import { call, type Database, openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { pickCalled, readFunctions } from "../../tools/functions.ts";
import { makeDatabase } from "../support/cluster.ts";
import { share } from "../support/share.ts";

const database = await share(makeDatabase());
const admin = await share(
  openDatabase({ url: database.adminUrl, connections: 2, prepare: true, name: "test" }),
);

test("db/functions.ts is current: bun run generate changes nothing", async () => {
  await admin.message([...Object.values(KEPT.functions), ...KEPT.rights, "select 1"].join(";\n"));
  expect(await pickCalled(await readFunctions(admin))).toEqual(FUNCTIONS);
});

test("a flood of one function, such as by forged cookies, leaves the other functions of the service room", async () => {
  const options = { url: database.adminUrl, connections: 4, prepare: true, name: "test" };
  const db = openDatabase(options);
  const flood = Array.from({ length: 400 }, () =>
    call(db, "cursor_secret", {}).then(
      () => "done",
      () => "rejected",
    ),
  );
  expect(await call(db, "has_administrator", {})).toBe(false);
  expect(new Set(await Promise.all(flood))).toEqual(new Set(["done", "rejected"]));
  await db.close();
});

/** Creates a function in the test database and calls it like `call()`. */
async function callNew(db: Database, definition: string, values: Record<string, unknown>) {
  const name = /function rowhouse\.(\w+)/.exec(definition)?.[1] ?? "";
  await admin.message(`${definition}; select 1`);
  const { [name]: shape } = await readFunctions(admin, name);
  if (shape === undefined) throw new Error(`${name} has no shape`);
  const { text, encode, decode, retry } = makeStatement(name, shape);
  return decode(await db.query(text, encode(values), { retry, queue: SERVICE_QUEUE }));
}

describe.each([{ prepare: true }, { prepare: false }])("with prepare $prepare", ({ prepare }) => {
  let db: Database;
  beforeAll(() => {
    db = openDatabase({ url: database.adminUrl, connections: 1, prepare, name: "test" });
  });
  afterAll(() => db.close());

  test.each([
    { type: "bool", value: true },
    { type: "bool", value: false },
    { type: "bytea", value: "00ff5c27" },
    { type: "bytea", value: "" },
    { type: "float8", value: -1.5 },
    { type: "int2", value: -7 },
    { type: "int4", value: 2_147_483_647 },
    { type: "int8", value: 9_007_199_254_740_991 },
    { type: "jsonb", value: { a: [1, null, 'it\'s "x" \\ é'], b: { c: true } } },
    { type: "jsonb", value: "a text" },
    { type: "jsonb", value: [] },
    { type: "text", value: 'it\'s "x", {y} \\ é $1' },
    { type: "text", value: "" },
    { type: "timestamptz", value: new Date("2030-01-31T12:00:00.123Z") },
    { type: "uuid", value: "0198f0a0-0000-7000-8000-000000000000" },
    { type: "text[]", value: ['a,"b"', "\\", "", "NULL", "{}"] },
    { type: "text[]", value: [] },
    { type: "uuid[]", value: ["0198f0a0-0000-7000-8000-000000000000"] },
    { type: "int4[]", value: [1, -2] },
    { type: "float8[]", value: [0.25, 1e20] },
  ])("$type $value is sent and returned unchanged", async ({ type, value }) => {
    const name = `echo_${type.replace("[]", "s")}`;
    const define = (returns: string, given: string) =>
      `create or replace function rowhouse.${name}_${returns === type ? "one" : "row"}("from" ${type}) returns ${returns}
      language sql stable as $$ select ${given} $$`;
    expect(await callNew(db, define(`table ("order" ${type})`, '"from"'), { from: value })).toEqual(
      [{ order: value }],
    );
    expect(await callNew(db, define(type, '"from"'), { from: value })).toEqual(value);
  });

  test("bytea is sent as bytes", async () => {
    const definition = `create or replace function rowhouse.echo_bytes(given bytea) returns bytea
      language sql stable as $$ select given $$`;
    expect(await callNew(db, definition, { given: new Uint8Array([0, 255]) })).toBe("00ff");
  });

  test("a visitor with quotes, commas and empty texts is sent unchanged", async () => {
    const visitor = {
      session_cookie: 'a,"b"\\c)',
      identity_cookie: "",
      idle_s: 600,
      client_address: "(null)",
    };
    const definition = `create or replace function rowhouse.echo_visitor(visitor rowhouse.visitor) returns jsonb
      language sql stable as $$ select to_jsonb(visitor) $$`;
    expect(await callNew(db, definition, { visitor })).toEqual(visitor);
  });

  test("bytea[] is sent and returned", async () => {
    const definition = `create or replace function rowhouse.count_bytes(many bytea[]) returns int4
      language sql stable as $$ select sum(length(item))::int4 from unnest(many) as item $$`;
    expect(await callNew(db, definition, { many: ["00ff", "5c2722"] })).toBe(5);
  });

  test.each([
    { name: "a value", definition: "returns int4", comment: "null result", result: null },
    {
      name: "a column",
      definition: "returns table (n int4)",
      comment: "null n",
      result: [{ n: null }],
    },
  ])("$name is null only if the comment allows it", async ({ definition, comment, result }) => {
    const define = (comment: string) => `create or replace function rowhouse.give_null(given int4)
      ${definition} language sql stable as $$ select given $$;
      comment on function rowhouse.give_null is '${comment}'`;
    await admin.message("drop function if exists rowhouse.give_null(int4); select 1");
    expect(await callNew(db, define(comment), { given: null })).toEqual(result as never);
    await expect(callNew(db, define(""), { given: undefined })).rejects.toThrow(
      "returned null for",
    );
  });
});

test("a second decoding of a result returns the same value", () => {
  const shape = { retry: "safe", parameters: {}, returns: { value: "bytea" } } as const;
  const { decode } = makeStatement("give_bytes", shape);
  const rows = [{ value: Buffer.from([0, 255]) }];
  expect(decode(rows)).toEqual({ value: "00ff" });
  expect(decode(rows)).toEqual({ value: "00ff" });
});

test.each([
  { volatility: "stable", comment: "", retry: "safe" },
  { volatility: "volatile", comment: "", retry: "unsafe" },
  { volatility: "volatile", comment: "idempotent", retry: "safe" },
])("a $volatility function with the comment '$comment' is $retry", async (row) => {
  await admin.message(`create or replace function rowhouse.be_called() returns void
    language sql ${row.volatility} as $$ $$;
    comment on function rowhouse.be_called is '${row.comment}'; select 1`);
  const { be_called: shape } = await readFunctions(admin, "be_called");
  expect(shape && makeStatement("be_called", shape).retry).toBe(row.retry as "safe");
});

test("an unknown comment is rejected", async () => {
  await admin.message(`create or replace function rowhouse.be_called() returns void
    language sql as $$ $$; comment on function rowhouse.be_called is 'idempotnt'; select 1`);
  await expect(readFunctions(admin)).rejects.toThrow('cannot read its comment "idempotnt"');
});
