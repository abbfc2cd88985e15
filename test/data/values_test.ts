/**
 * Accepted and rejected values of every builder on create and update. Accepted values are returned byte for byte.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { cases } from "../support/cases.ts";
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

const many = (text: string, times: number) => text.repeat(times);

/** Accepted values as JSON, as they are sent and, if that differs, returned. */
const GOOD = cases("column", "name", "sent", "back")`
  string    | empty                                | ""
  string    | from all Unicode planes              | "naïve 🙂 \u{10ffff} \u{fffe}"
  string    | escaped                              | "\\u0041\\/\\b\\f\\n\\r\\t\\u0001"    | "A/\\b\\f\\n\\r\\t\\u0001"
  string    | an escaped surrogate pair            | "\\ud83d\\ude42"                | "🙂"
  string    | like SQL                             | "'; drop table data.things; --"
  string    | like markup                          | "<script>alert(1)</script>=cmd()"
  string    | like a setting                       | "now"
  string    | of 90,000 bytes                      | "${many("x", 90_000)}"
  number    | zero                                 | 0
  number    | minus zero, which becomes zero       | -0                            | 0
  number    | a tenth                              | 0.1
  number    | an exponent                          | 1.5E+3                        | 1500
  number    | redundant digits                     | 1.50000000000000000000        | 1.5
  number    | 2^53                                 | 9007199254740992
  number    | 2^53 + 2                             | 9007199254740994
  number    | 1e308                                | 1e308                         | 1${many("0", 308)}
  number    | the smallest number                  | 5e-324                        | 0.${many("0", 323)}5
  number    | the largest number                   | 1.7976931348623157e308        | 17976931348623157${many("0", 292)}
  decimal   | with trailing zeros                  | "12.500"
  decimal   | of 400 characters                    | "-${many("9", 199)}.${many("8", 199)}"
  decimal   | past 2^53                            | "9007199254740993.000000000000000001"
  decimal   | leading zeros, which are dropped     | "007"                         | "7"
  decimal   | minus zero                           | "-0.00"                       | "0.00"
  boolean   | true                                 | true
  boolean   | false                                | false
  uuid      | uppercase                            | "0190163D-8694-739B-AEA5-966C26F8AD91" | "0190163d-8694-739b-aea5-966c26f8ad91"
  uuid      | nil                                  | "${NIL}"
  timestamp | in UTC                               | "2026-01-02T03:04:05Z"        | "2026-01-02T03:04:05+00:00"
  timestamp | with microseconds                    | "2026-01-02T03:04:05.123456Z" | "2026-01-02T03:04:05.123456+00:00"
  timestamp | with seven digits, as .NET writes    | "2026-01-02T03:04:05.1234565Z" | "2026-01-02T03:04:05.123456+00:00"
  timestamp | with nine digits (Go, Java and Rust) | "2026-01-02T03:04:59.999999987Z" | "2026-01-02T03:05:00+00:00"
  timestamp | with an offset                       | "2026-01-02T03:04:05.5+05:45" | "2026-01-01T21:19:05.5+00:00"
  timestamp | the earliest                         | "0001-01-01T00:00:00Z"        | "0001-01-01T00:00:00+00:00"
  timestamp | the earliest, in the year 0 there    | "0000-12-31T23:00:00-01:00"   | "0001-01-01T00:00:00+00:00"
  timestamp | the latest                           | "9999-12-31T23:59:59.999999Z" | "9999-12-31T23:59:59.999999+00:00"
  timestamp | a leap day                           | "2024-02-29T23:59:59-15:59"   | "2024-03-01T15:58:59+00:00"
  integer   | the largest integer                  | 9007199254740991
  integer   | the least integer                    | -9007199254740991
  integer   | a whole number with a point          | 1.0                           | 1
  integer   | a whole number with an exponent      | 12e3                          | 12000
  integer   | minus zero                           | -0                            | 0
  date      | the earliest date                    | "0001-01-01"
  date      | the latest date                      | "9999-12-31"
  date      | a leap day                           | "2024-02-29"
  json      | a scalar                             | "text"
  json      | a number                             | 1.5
  json      | false                                | false
  json      | an empty list                        | []
  json      | empty keys                           | {"":{"":[]}}                  | {"": {"": []}}
  json      | a key named __proto__                | {"__proto__":{"x":1}}         | {"__proto__": {"x": 1}}
  json      | __proto__ next to long digits        | {"__proto__":{"x":1.00000000000000000000}} | {"__proto__": {"x": 1}}
  json      | a key named toJSON                   | {"toJSON":"x","constructor":{"prototype":1}} | {"toJSON": "x", "constructor": {"prototype": 1}}
  json      | a number of 40 digits                | [1e39]                        | [1${many("0", 39)}]
  json      | small and long                       | [1.2345678901234567e-30]      | [0.${many("0", 29)}12345678901234567]
  json      | small                                | [1e-39]                       | [0.${many("0", 38)}1]
  json      | null inside                          | {"a":null}                    | {"a": null}
  json      | 64 levels deep, including its row    | ${many("[", 63) + many("]", 63)}
  enum      | with a space                         | "open"
  enum      | with a quote                         | "it's"
  enum      | with letters outside ASCII           | "naïve 🙂"
  enum      | with double quotes                   | "say \\"hi\\""
  enum      | with a backslash                     | "back\\\\slash"
  enum      | of a space                           | " "
`;
const NULLS = Object.keys(schema.tables.things)
  .filter((column) => column !== "uuid")
  .map((column) => ({ column, name: "null", sent: "null", back: "" }));

/** Rejected values as JSON. All that break one rule of a column get the same sentence, which is in the snapshot. */
const BAD = cases("column", "rule", "values")`
  string    | type       | 1, true, [], {}, ["a"]
  string    | characters | "a\\u0000b", "\\ud800", "\\udc00\\ud800", "x\\ud83dx"
  number    | type       | "1", "1e3", "0x10", " 1", "NaN", "Infinity", true, [1], {}
  number    | digits     | 9007199254740993, 9223372036854775808, 1e400, -1e400, 1e-400, ${many("9", 400)}, 0.1000000000000000000001
  decimal   | format     | 1, 1.5, "", "1e3", "+1", ".5", "1.", " 1", "1 ", "0x1", "NaN", "Infinity", "1,5", "１", "--1", "1\\n", []
  decimal   | format     | "${many("9", 401)}"
  integer   | type       | 1.5, "1", true, [], 1e-1
  integer   | digits     | 9007199254740992, 9007199254740993, -9007199254740992, 1e21, 1e400
  boolean   | type       | "true", 1, 0, "t", []
  uuid      | format     | "", "{${NIL}}", "0190163d8694739baea5966c26f8ad91", "${NIL} ", "${NIL}\\n", "urn:uuid:${NIL}", 1, []
  ref       | format     | "x", {}
  ref       | row        | "${NIL}"
  timestamp | format     | "2026-01-02T03:04:05", "2026-01-02", "2026-01-02 03:04:05Z", "infinity", "-infinity", "now", "epoch"
  timestamp | format     | "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-02T24:00:00Z", "2026-01-02T23:59:60Z"
  timestamp | format     | "2026-01-02T03:04:05.1234567890Z", "9999-12-31T23:59:59.9999996Z", "2026-01-02T03:04:05+16:00"
  timestamp | format     | "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "10000-01-01T00:00:00Z"
  timestamp | format     | "+002026-01-02T03:04:05Z", "2026-01-02T03:04:05z", 1767323045, "2026-01-02T03:04:05Z BC"
  date      | format     | "2026-01-02T00:00:00Z", "2026-02-29", "2026-13-01", "0000-12-31", "10000-01-01", "2026-1-2", "2026-01-02 "
  date      | format     | "2026-01-02\\n", "today", "infinity", "20260102", "0001-01-01 BC", 20260102, []
  json      | characters | "\\u0000", {"\\u0000":1}, [["\\udfff"]], {"a":{"\\ud800":1}}
  json      | digits     | 9007199254740993, [1e400], {"a":[0.1000000000000000000001]}
  json      | size       | 1e40, [1e308], {"a":5e-324}, [1e-40]
  enum      | values     | "Open", "", "open ", 0, ["open"]
`;
const BAD_VALUES = BAD.flatMap(({ values, ...bad }) =>
  values.split(", ").map((sent) => ({ ...bad, sent, name: sent.slice(0, 40) })),
);

describe("an accepted value", () => {
  test.each([...GOOD, ...NULLS])(
    "is returned by create, update and get, $column: $name",
    async ({ column, sent, back }) => {
      const created = await create("things", `{"${column}":${sent}}`);
      expect(created.status).toBe(201);
      const cleared = await update(`{"${column}":null}`);
      expect([cleared.status, readField(cleared.text, column)]).toEqual([200, "null"]);
      const updated = await update(`{"${column}":${sent}}`);
      expect(updated.status).toBe(200);
      const got = await service.call(app, `/v1/data/db/things/${row}`);
      expect([created.text, updated.text, got.text].map((text) => readField(text, column))).toEqual(
        Array(3).fill(back || sent),
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
  test.each(BAD_VALUES)("$column does not accept $name", async ({ column, sent, rule }) => {
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
