/**
 * Accepted and rejected values of every builder on create and update. Accepted values are returned byte for byte.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { drawRuns } from "../support/tier.ts";

const NIL = "00000000-0000-0000-0000-000000000000";
const schema = defineSchema({
  parents: { name: t.string() },
  things: {
    string: t.string(),
    number: t.number(),
    integer: t.integer(),
    decimal: t.decimal(),
    boolean: t.boolean(),
    uuid: t.uuid(),
    timestamp: t.timestamp(),
    date: t.date(),
    json: t.json(),
    enum: t.enum(["open", "it's", "naïve 🙂", 'say "hi"', "back\\slash", " "]),
    ref: t.ref("parents"),
  },
  strict: {
    title: t.string().required(),
    count: t.number().required(),
    note: t.string(),
    rank: t.number().required().default(7),
  },
  initial: {
    string: t.string().default('it\'s \\ "quoted" \u2028'),
    number: t.number().default(-1.5e-7),
    integer: t.integer().default(-9007199254740991),
    decimal: t.decimal().default("0010.500"),
    boolean: t.boolean().default(false),
    uuid: t.uuid().default("0190163D-8694-739B-AEA5-966C26F8AD91"),
    timestamp: t.timestamp().default("2026-01-02T03:04:05.000001+02:00"),
    json: t.json().default({ a: [1, null, "it's"], "": { "\\": true } }),
    enum: t.enum(["a", "b'"]).default("b'"),
    date: t.date().default("0001-01-01"),
    made: t.timestamp().required().default("now"),
    day: t.date().required().default("today"),
    word: t.string().default("now"),
  },
  long: t
    .model({
      unique: t.string().unique(),
      indexed: t.string().index(),
      left: t.string(),
      right: t.string(),
    })
    .index("left", "right"),
});

const service = await share(openTestService());
const app = await service.makeApp(schema);
const create = (table: string, body: string) => send("POST", `/v1/data/db/${table}`, body);
const row = (await create("things", "{}")).json["id"] ?? "";
const parent = (await create("parents", "{}")).json["id"] ?? "";

type Reply = { status: number; text: string; json: Record<string, string> & { details?: unknown } };

async function send(method: string, path: string, body: string | Uint8Array): Promise<Reply> {
  const headers = { "content-type": "application/json" };
  const response = await service.call(app, path, { method, body: body as BodyInit, headers });
  return response as typeof response & Reply;
}
const update = (body: string) => send("PATCH", `/v1/data/db/things/${row}`, body);

/** Returns the unchanged text of a field in a response's text. */
function readField(text: string, name: string): string {
  const start = text.indexOf(`"${name}":`) + name.length + 3;
  const names = Object.keys(schema.tables.things);
  const next = names[names.indexOf(name) + 1];
  return text.slice(start, next === undefined ? -1 : text.indexOf(`,"${next}":`, start));
}

type Good = { name: string; column: string; sent: string; back?: string };

const many = (text: string, times: number) => text.repeat(times);

const GOOD: readonly Good[] = [
  { name: "empty", column: "string", sent: '""' },
  { name: "from all Unicode planes", column: "string", sent: '"naïve 🙂 \u{10ffff} \ufffe"' },
  {
    name: "escaped",
    column: "string",
    sent: '"\\u0041\\/\\b\\f\\n\\r\\t\\u0001"',
    back: '"A/\\b\\f\\n\\r\\t\\u0001"',
  },
  { name: "an escaped surrogate pair", column: "string", sent: '"\\ud83d\\ude42"', back: '"🙂"' },
  { name: "like SQL", column: "string", sent: `"'; drop table data.things; --"` },
  { name: "like markup", column: "string", sent: '"<script>alert(1)</script>=cmd()"' },
  { name: "like a setting", column: "string", sent: '"now"' },
  { name: "of 90,000 bytes", column: "string", sent: `"${many("x", 90_000)}"` },
  { name: "null", column: "string", sent: "null" },
  { name: "zero", column: "number", sent: "0" },
  { name: "minus zero, which becomes zero", column: "number", sent: "-0", back: "0" },
  { name: "a tenth", column: "number", sent: "0.1" },
  { name: "an exponent", column: "number", sent: "1.5E+3", back: "1500" },
  { name: "redundant digits", column: "number", sent: "1.50000000000000000000", back: "1.5" },
  { name: "2^53", column: "number", sent: "9007199254740992" },
  { name: "2^53 + 2", column: "number", sent: "9007199254740994" },
  { name: "1e308", column: "number", sent: "1e308", back: `1${many("0", 308)}` },
  { name: "the smallest number", column: "number", sent: "5e-324", back: `0.${many("0", 323)}5` },
  {
    name: "the largest number",
    column: "number",
    sent: "1.7976931348623157e308",
    back: `17976931348623157${many("0", 292)}`,
  },
  { name: "null", column: "number", sent: "null" },
  { name: "with trailing zeros", column: "decimal", sent: '"12.500"' },
  { name: "of 400 characters", column: "decimal", sent: `"-${many("9", 199)}.${many("8", 199)}"` },
  { name: "past 2^53", column: "decimal", sent: '"9007199254740993.000000000000000001"' },
  { name: "leading zeros, which are dropped", column: "decimal", sent: '"007"', back: '"7"' },
  { name: "minus zero", column: "decimal", sent: '"-0.00"', back: '"0.00"' },
  { name: "null", column: "decimal", sent: "null" },
  { name: "true", column: "boolean", sent: "true" },
  { name: "false", column: "boolean", sent: "false" },
  { name: "null", column: "boolean", sent: "null" },
  {
    name: "uppercase",
    column: "uuid",
    sent: '"0190163D-8694-739B-AEA5-966C26F8AD91"',
    back: '"0190163d-8694-739b-aea5-966c26f8ad91"',
  },
  { name: "nil", column: "uuid", sent: `"${NIL}"` },
  {
    name: "in UTC",
    column: "timestamp",
    sent: '"2026-01-02T03:04:05Z"',
    back: '"2026-01-02T03:04:05+00:00"',
  },
  {
    name: "with microseconds",
    column: "timestamp",
    sent: '"2026-01-02T03:04:05.123456Z"',
    back: '"2026-01-02T03:04:05.123456+00:00"',
  },
  {
    name: "with seven digits, as .NET writes",
    column: "timestamp",
    sent: '"2026-01-02T03:04:05.1234565Z"',
    back: '"2026-01-02T03:04:05.123456+00:00"',
  },
  {
    name: "with nine digits, as Go, Java and Rust write",
    column: "timestamp",
    sent: '"2026-01-02T03:04:59.999999987Z"',
    back: '"2026-01-02T03:05:00+00:00"',
  },
  {
    name: "with an offset",
    column: "timestamp",
    sent: '"2026-01-02T03:04:05.5+05:45"',
    back: '"2026-01-01T21:19:05.5+00:00"',
  },
  {
    name: "the earliest timestamp",
    column: "timestamp",
    sent: '"0001-01-01T00:00:00Z"',
    back: '"0001-01-01T00:00:00+00:00"',
  },
  {
    name: "the earliest timestamp in the year 0, by its offset",
    column: "timestamp",
    sent: '"0000-12-31T23:00:00-01:00"',
    back: '"0001-01-01T00:00:00+00:00"',
  },
  {
    name: "the latest timestamp",
    column: "timestamp",
    sent: '"9999-12-31T23:59:59.999999Z"',
    back: '"9999-12-31T23:59:59.999999+00:00"',
  },
  {
    name: "a leap day",
    column: "timestamp",
    sent: '"2024-02-29T23:59:59-15:59"',
    back: '"2024-03-01T15:58:59+00:00"',
  },
  { name: "null", column: "timestamp", sent: "null" },
  { name: "the largest integer", column: "integer", sent: "9007199254740991" },
  { name: "the least integer", column: "integer", sent: "-9007199254740991" },
  { name: "a whole number with a point", column: "integer", sent: "1.0", back: "1" },
  { name: "a whole number with an exponent", column: "integer", sent: "12e3", back: "12000" },
  { name: "minus zero", column: "integer", sent: "-0", back: "0" },
  { name: "null", column: "integer", sent: "null" },
  { name: "the earliest date", column: "date", sent: '"0001-01-01"' },
  { name: "the latest date", column: "date", sent: '"9999-12-31"' },
  { name: "a leap day", column: "date", sent: '"2024-02-29"' },
  { name: "null", column: "date", sent: "null" },
  { name: "a scalar", column: "json", sent: '"text"' },
  { name: "a number", column: "json", sent: "1.5" },
  { name: "false", column: "json", sent: "false" },
  { name: "an empty list", column: "json", sent: "[]" },
  { name: "empty keys", column: "json", sent: '{"":{"":[]}}', back: '{"": {"": []}}' },
  {
    name: "a key named __proto__",
    column: "json",
    sent: '{"__proto__":{"x":1}}',
    back: '{"__proto__": {"x": 1}}',
  },
  {
    name: "a key named __proto__ next to long digits",
    column: "json",
    sent: '{"__proto__":{"x":1.00000000000000000000}}',
    back: '{"__proto__": {"x": 1}}',
  },
  {
    name: "a key named toJSON",
    column: "json",
    sent: '{"toJSON":"x","constructor":{"prototype":1}}',
    back: '{"toJSON": "x", "constructor": {"prototype": 1}}',
  },
  { name: "a number of 40 digits", column: "json", sent: "[1e39]", back: `[1${many("0", 39)}]` },
  {
    name: "small and long",
    column: "json",
    sent: "[1.2345678901234567e-30]",
    back: `[0.${many("0", 29)}12345678901234567]`,
  },
  { name: "small", column: "json", sent: "[1e-39]", back: `[0.${many("0", 38)}1]` },
  { name: "null inside", column: "json", sent: '{"a":null}', back: '{"a": null}' },
  {
    name: "64 levels deep, including its row",
    column: "json",
    sent: many("[", 63) + many("]", 63),
  },
  { name: "null", column: "json", sent: "null" },
  ...(schema.tables.things.enum.column.values?.map((value) => ({
    name: value,
    column: "enum",
    sent: JSON.stringify(value),
  })) ?? []),
  { name: "null", column: "enum", sent: "null" },
  { name: "null", column: "ref", sent: "null" },
];

/** `rule` is the broken rule of the column: all values that break it get the same sentence, which is in the snapshot. */
type Bad = { name: string; column: string; sent: string; rule: string };

function bad(column: string, rule: string, sent: readonly string[]): Bad[] {
  return sent.map((value) => ({ name: value.slice(0, 40), column, sent: value, rule }));
}

const BAD: readonly Bad[] = [
  ...bad("string", "type", ["1", "true", "[]", "{}", '["a"]']),
  ...bad("string", "characters", ['"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"', '"x\\ud83dx"']),
  ...bad("number", "type", [
    '"1"',
    '"1e3"',
    '"0x10"',
    '" 1"',
    '"NaN"',
    '"Infinity"',
    "true",
    "[1]",
    "{}",
  ]),
  ...bad("number", "digits", [
    "9007199254740993",
    "9223372036854775808",
    "1e400",
    "-1e400",
    "1e-400",
    many("9", 400),
    "0.1000000000000000000001",
  ]),
  ...bad("decimal", "format", [
    "1",
    "1.5",
    '""',
    '"1e3"',
    '"+1"',
    '".5"',
    '"1."',
    '" 1"',
    '"1 "',
    '"0x1"',
    '"NaN"',
    '"Infinity"',
    '"1,5"',
    '"１"',
    '"--1"',
    `"${many("9", 401)}"`,
    '"1\\n"',
    "[]",
  ]),
  ...bad("integer", "type", ["1.5", '"1"', "true", "[]", "1e-1"]),
  ...bad("integer", "digits", [
    "9007199254740992",
    "9007199254740993",
    "-9007199254740992",
    "1e21",
    "1e400",
  ]),
  ...bad("boolean", "type", ['"true"', "1", "0", '"t"', "[]"]),
  ...bad("uuid", "format", [
    '""',
    `"{${NIL}}"`,
    '"0190163d8694739baea5966c26f8ad91"',
    `"${NIL} "`,
    `"${NIL}\\n"`,
    `"urn:uuid:${NIL}"`,
    "1",
    "[]",
  ]),
  ...bad("ref", "format", ['"x"', "{}"]),
  ...bad("ref", "row", [`"${NIL}"`]),
  ...bad("timestamp", "format", [
    '"2026-01-02T03:04:05"',
    '"2026-01-02"',
    '"2026-01-02 03:04:05Z"',
    '"infinity"',
    '"-infinity"',
    '"now"',
    '"epoch"',
    '"2026-02-29T00:00:00Z"',
    '"2026-13-01T00:00:00Z"',
    '"2026-01-02T24:00:00Z"',
    '"2026-01-02T23:59:60Z"',
    '"2026-01-02T03:04:05.1234567890Z"',
    '"9999-12-31T23:59:59.9999996Z"',
    '"2026-01-02T03:04:05+16:00"',
    '"0000-12-31T23:59:59Z"',
    '"0001-01-01T00:00:00+00:01"',
    '"9999-12-31T23:59:59-00:01"',
    '"10000-01-01T00:00:00Z"',
    '"+002026-01-02T03:04:05Z"',
    '"2026-01-02T03:04:05z"',
    "1767323045",
    '"2026-01-02T03:04:05Z BC"',
  ]),
  ...bad("date", "format", [
    '"2026-01-02T00:00:00Z"',
    '"2026-02-29"',
    '"2026-13-01"',
    '"0000-12-31"',
    '"10000-01-01"',
    '"2026-1-2"',
    '"2026-01-02 "',
    '"2026-01-02\\n"',
    '"today"',
    '"infinity"',
    '"20260102"',
    '"0001-01-01 BC"',
    "20260102",
    "[]",
  ]),
  ...bad("json", "characters", [
    '"\\u0000"',
    '{"\\u0000":1}',
    '[["\\udfff"]]',
    '{"a":{"\\ud800":1}}',
  ]),
  ...bad("json", "digits", ["9007199254740993", "[1e400]", '{"a":[0.1000000000000000000001]}']),
  ...bad("json", "size", ["1e40", "[1e308]", '{"a":5e-324}', "[1e-40]"]),
  ...bad("enum", "values", ['"Open"', '""', '"open "', "0", '["open"]']),
];

describe("an accepted value", () => {
  test.each(GOOD.map((good) => ({ ...good, label: `${good.column}: ${good.name}` })))(
    "is returned by create, update and get, $label",
    async ({ column, sent, back = sent }) => {
      const created = await create("things", `{"${column}":${sent}}`);
      expect(created.status).toBe(201);
      const cleared = await update(`{"${column}":null}`);
      expect([cleared.status, readField(cleared.text, column)]).toEqual([200, "null"]);
      const updated = await update(`{"${column}":${sent}}`);
      expect(updated.status).toBe(200);
      const got = await service.call(app, `/v1/data/db/things/${row}`);
      expect([created.text, updated.text, got.text].map((text) => readField(text, column))).toEqual(
        [back, back, back],
      );
    },
  );

  test("is returned in lowercase, if it is a reference to a row of this app", async () => {
    const created = await create("things", `{"ref":"${parent.toUpperCase()}"}`);
    expect([created.status, created.json["ref"]]).toEqual([201, parent]);
  });
});

/** The sentences about each broken rule of a column. */
const SENTENCES = new Map<string, Set<string>>();

describe("a rejected value", () => {
  test.each(BAD)("$column does not accept $name", async ({ column, sent, rule }) => {
    const before = (await service.call(app, `/v1/data/db/things/${row}`)).text;
    for (const response of [
      await create("things", `{"${column}":${sent}}`),
      await update(`{"${column}":${sent}}`),
    ]) {
      const { requestId, ...body } = response.json;
      expect([response.status, body as unknown]).toEqual([
        422,
        {
          error: "validation_failed",
          message: expect.any(String),
          details: [{ path: `/${column}`, message: expect.any(String) }],
        },
      ]);
      const sentences = SENTENCES.get(`${column}: ${rule}`) ?? new Set();
      const [{ message = "" } = {}] = response.json.details as { message?: string }[];
      SENTENCES.set(`${column}: ${rule}`, sentences.add(message));
      expect(requestId).toBeString();
    }
    expect((await service.call(app, `/v1/data/db/things/${row}`)).text).toBe(before);
  });

  test("has one sentence for each rule of a column", () => {
    expect(SENTENCES.size).toBe(new Set(BAD.map(({ column, rule }) => column + rule)).size);
    const sentences = [...SENTENCES].map(([rule, texts]) => [rule, [...texts].join("\n")]);
    expect(Object.fromEntries(sentences)).toMatchSnapshot();
  });

  test("reports all errors of a body together", async () => {
    const response = await create(
      "strict",
      '{"title":null,"count":"1","note":["x"],"rank":null,"unknown":"\\u0000"}',
    );
    expect([response.status, response.json.details]).toEqual([
      422,
      [
        { path: "/title", message: expect.stringContaining("null") },
        { path: "/count", message: "Must be a number" },
        { path: "/note", message: "Must be a string" },
        { path: "/rank", message: expect.stringContaining("null") },
      ],
    ]);
  });

  test("missing required columns are reported with the invalid columns", async () => {
    const response = await create("strict", '{"note":1}');
    expect(response.json.details).toEqual([
      { path: "/note", message: "Must be a string" },
      { path: "/title", message: "Is required and has no default" },
      { path: "/count", message: "Is required and has no default" },
    ]);
  });

  test("a required column cannot be cleared, and an optional column can", async () => {
    const created = await create("strict", '{"title":"a","count":1,"note":"n"}');
    expect(created.json["rank"] as unknown).toBe(7);
    const path = `/v1/data/db/strict/${created.json["id"]}`;
    const rejected = await send("PATCH", path, '{"title":null,"note":null}');
    expect(rejected.json.details).toEqual([
      { path: "/title", message: expect.stringContaining("null") },
    ]);
    const cleared = await send("PATCH", path, '{"note":null}');
    expect([cleared.status, cleared.json["note"] as unknown, cleared.json["title"]]).toEqual([
      200,
      null,
      "a",
    ]);
  });
});

test("the last of two equal keys counts", async () => {
  const text = '{"title":"first","count":1,"title":"last"}';
  const created = await create("strict", text);
  expect([created.status, created.json["title"]]).toEqual([201, "last"]);
  const path = `/v1/data/db/strict/${created.json["id"]}`;
  const changed = await send("PATCH", path, '{"title":1,"title":"later"}');
  expect([changed.status, changed.json["title"]]).toEqual([200, "later"]);
});

describe("defaults", () => {
  test("fill in absent values, byte for byte", async () => {
    const before = Date.now();
    const created = await create("initial", "{}");
    const { id: _id, app_id: _app, made: moment, day, ...values } = created.json;
    expect(values as unknown).toEqual({
      string: 'it\'s \\ "quoted" \u2028',
      number: -1.5e-7,
      integer: -9007199254740991,
      decimal: "0010.500".replace(/^0+/, ""),
      boolean: false,
      uuid: "0190163d-8694-739b-aea5-966c26f8ad91",
      timestamp: "2026-01-02T01:04:05.000001+00:00",
      date: "0001-01-01",
      json: { a: [1, null, "it's"], "": { "\\": true } },
      enum: "b'",
      word: "now",
    });
    expect(Math.abs(Date.parse(moment ?? "") - before)).toBeLessThan(60_000);
    expect(moment?.slice(0, 10)).toBe(day);
  });

  test("are overridden by null, and an update does not restore them", async () => {
    const nulls =
      '{"string":null,"number":null,"integer":null,"decimal":null,"boolean":null,"uuid":null,"timestamp":null,"date":null,"json":null,"enum":null,"word":null}';
    const created = await create("initial", nulls);
    const values = (reply: Reply) =>
      Object.keys(JSON.parse(nulls)).map((name) => reply.json[name] as unknown);
    expect(values(created)).toEqual(Array(11).fill(null));
    const changed = await send(
      "PATCH",
      `/v1/data/db/initial/${created.json["id"]}`,
      '{"word":"x"}',
    );
    expect(values(changed)).toEqual([...Array(10).fill(null), "x"]);
  });
});

describe("a long value does not fail in", () => {
  const noise = (length: number) =>
    Array.from({ length }, () =>
      String.fromCharCode(0x4e00 + Math.floor(Math.random() * 20_000)),
    ).join("");
  test.each([
    { name: "an index, at more than a page", body: { indexed: noise(9000), left: "x" } },
    {
      name: "an index on two columns, at more than a third of a page",
      body: { left: noise(700), right: noise(700) },
    },
    {
      name: "an index on two columns, at more than a page",
      body: { left: noise(5000), right: noise(5000) },
    },
    {
      name: "a unique column, with backslashes and a surrogate pair",
      body: { unique: `\\${noise(1200)}\\x😀` },
    },
  ])("$name", async ({ body }) => {
    const created = await create("long", JSON.stringify(body));
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject(body);
  });

  test("a unique constraint, which rejects only equal values", async () => {
    const value = noise(9000);
    const statuses: number[] = [];
    for (const unique of [
      value,
      value,
      `${value.slice(0, -1)}x`,
      `${value}\\`,
      `${value}\\\\`,
      value,
    ]) {
      const reply = await create("long", JSON.stringify({ unique }));
      statuses.push(reply.status);
      if (reply.status === 409)
        expect(reply.json["details"]).toEqual([
          { path: "/unique", message: expect.stringContaining("unique") },
        ]);
    }
    expect(statuses).toEqual([201, 409, 201, 201, 201, 409]);
  });
});

describe("a round trip", () => {
  test("returns an accepted JSON value unchanged", async () => {
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "grapheme" }),
      fc.constant("__proto__"),
    );
    const { json } = fc.letrec<{ json: unknown }>((tie) => ({
      json: fc.oneof(
        { depthSize: "small" },
        fc.constant(null),
        fc.boolean(),
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        texts,
        fc.array(tie("json"), { maxLength: 4 }),
        fc.dictionary(texts, tie("json"), { maxKeys: 4 }),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        const body = `{"json":${JSON.stringify(value)}}`;
        const response = await update(body);
        if (response.status === 422) return;
        expect(response.status).toBe(200);
        expect(JSON.stringify(sort(response.json["json"]))).toBe(
          JSON.stringify(sort(JSON.parse(body).json)),
        );
      }),
      drawRuns(300),
    );
  });

  test("returns an accepted number, text or decimal unchanged", async () => {
    const values = fc.record({
      number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      string: fc.string({ unit: "binary" }),
      decimal: fc.stringMatching(/^-?[1-9][0-9]{0,40}\.[0-9]{1,40}$/),
    });
    await fc.assert(
      fc.asyncProperty(values, async (sent) => {
        const response = await update(JSON.stringify(sent));
        if (response.status === 422) {
          expect(sent.string).toMatch(/\0|\p{Surrogate}/u);
          return;
        }
        const { number, string, decimal } = response.json as Record<string, unknown>;
        expect({ number, string, decimal }).toEqual(sent);
      }),
      drawRuns(200),
    );
  });

  /** Sorts keys: jsonb has a different order. Includes own keys such as "__proto__". */
  function sort(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(sort);
    if (typeof value !== "object" || value === null) return value;
    return Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sort(inner)]);
  }
});
