import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { drawRuns } from "../../test/support/tier.ts";
import { canonicalJson } from "../std/json.ts";
import { type AnyColumn, defineSchema, KINDS, readDefinition, t, toDefinition } from "./mod.ts";

/** JSON that comes close to a definition, and JSON that does not. */
const flag = fc.oneof(fc.boolean(), fc.jsonValue());
const word = fc.oneof(
  fc.constantFrom("a", "b", "A", "id", "users", "todos", "__proto__", "now", ""),
  fc.string(),
);
const nearColumn = fc.record(
  {
    name: word,
    kind: fc.oneof(fc.constantFrom<string>(...KINDS), fc.jsonValue()),
    required: flag,
    unique: flag,
    index: flag,
    default: fc.jsonValue(),
    values: fc.oneof(fc.array(word), fc.jsonValue()),
    table: word,
    onUpdate: fc.oneof(fc.constant("now"), fc.jsonValue()),
    onDelete: fc.oneof(fc.constantFrom("cascade", "set null"), fc.jsonValue()),
  },
  { requiredKeys: [] },
);
const lists = fc.oneof(fc.array(fc.array(word)), fc.jsonValue());
const nearMatch = fc.oneof(
  fc.constantFrom<unknown>("me", null, { memberOf: "todos" }, { readable: true }),
  fc.record({ memberOf: word, where: fc.dictionary(word, fc.jsonValue()) }),
  fc.jsonValue(),
);
const nearAlternative = fc.dictionary(word, nearMatch, { maxKeys: 3 });
const nearRule = fc.oneof(fc.boolean(), nearAlternative, fc.array(nearAlternative), fc.jsonValue());
const nearRole = fc.oneof(
  fc.constant("everything"),
  fc.record(
    {
      read: nearRule,
      create: nearRule,
      update: fc.oneof(nearRule, fc.record({ from: nearRule, to: nearRule })),
      delete: nearRule,
    },
    { requiredKeys: [] },
  ),
  fc.jsonValue(),
);
const nearRules = fc.oneof(
  fc.record(
    {
      allow: fc.dictionary(word, nearRole, { maxKeys: 3 }),
      owner: fc.array(word),
      only: fc.dictionary(word, fc.array(fc.oneof(word, fc.anything())), { maxKeys: 2 }),
      setBy: fc.dictionary(word, fc.array(word), { maxKeys: 2 }),
    },
    { requiredKeys: [] },
  ),
  fc.jsonValue(),
);
const nearTable = fc.record(
  { name: word, columns: fc.array(nearColumn), indexes: lists, uniques: lists, rules: nearRules },
  { requiredKeys: [] },
);
const nearDefinition = fc.record(
  { version: fc.constantFrom(1, 2, "1"), tables: fc.array(fc.oneof(nearTable, fc.jsonValue())) },
  { requiredKeys: [] },
);

describe("readDefinition() never throws and returns a definition or errors", () => {
  test.each([
    { name: "any JSON", values: fc.jsonValue() },
    { name: "near definitions", values: nearDefinition },
    {
      name: "any value",
      values: fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withNullPrototype: true,
      }),
    },
  ])("for $name", ({ values }) => {
    fc.assert(
      fc.property<[unknown]>(values, (value) => {
        const reading = readDefinition(value);
        expect(Object.keys(reading)).toEqual("issues" in reading ? ["issues"] : ["definition"]);
        const issues = "issues" in reading ? reading.issues : undefined;
        expect(issues?.length).not.toBe(0);
        for (const { message } of issues ?? []) expect(message).toMatch(/^Cannot .*[^.]$/s);
      }),
      drawRuns(500),
    );
  });
});

const columnName = fc
  .stringMatching(/^[a-z][a-z0-9]{0,5}$/)
  .filter((name) => !["id", "then", "oid", "ctid", "xmin", "cmin", "xmax", "cmax"].includes(name));
const tableName = columnName.filter((name) => !["users", "files"].includes(name));
const column: fc.Arbitrary<AnyColumn> = fc.oneof(
  fc.string().map((text) => t.string().default(text.replaceAll("\u0000", ""))),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => t.number().default(value)),
  fc.maxSafeInteger().map((value) => t.integer().default(value)),
  fc.integer().map((value) => t.decimal().default(`${value}`).required()),
  fc.boolean().map((value) => t.boolean().default(value)),
  fc.uuid().map((value) => t.uuid().default(value)),
  fc.constant(t.timestamp().default("now")),
  fc.constant(t.timestamp().default("now").onUpdate("now").required()),
  fc.constant(t.timestamp().default("2026-01-02T03:04:05.10+05:30")),
  fc.constant(t.date().default("today")),
  fc.constant(t.date().default("2024-02-29")),
  fc.constant(t.json().default({ a: [1, null] })),
  fc
    .uniqueArray(fc.stringMatching(/^[a-zé]{1,9}$/), { minLength: 1, maxLength: 9 })
    .map((values) => {
      const [first = "a", ...rest] = values;
      return t.enum([first, ...rest]).default(first);
    }),
);
const columns = fc.dictionary(columnName, column, { maxKeys: 8 });
const table = columns.map((made) => {
  const names = Object.keys(made).filter((name) => made[name]?.column.kind !== "json");
  const [first, second] = names;
  if (first === undefined || second === undefined) return made;
  return t.model(made).index(first, second).unique(second).unique(second, first);
});
const schemas = fc.dictionary(tableName, table, { maxKeys: 5 });

describe("a schema without errors", () => {
  test("is unchanged after a round trip through its definition's JSON", () => {
    fc.assert(
      fc.property(schemas, (tables) => {
        const reading = toDefinition(defineSchema(tables));
        if ("issues" in reading) throw new Error(canonicalJson(reading));
        const { definition } = reading;
        expect(readDefinition(JSON.parse(canonicalJson(definition)))).toEqual({ definition });
        expect(definition.tables.map(({ name }) => name)).toEqual(Object.keys(tables).sort());
      }),
      drawRuns(1000),
    );
  });

  test("has one definition, regardless of the order of its tables", () => {
    fc.assert(
      fc.property(schemas, (tables) => {
        const turned = Object.fromEntries(Object.entries(tables).reverse());
        const texts = [tables, turned].map((one) => canonicalJson(toDefinition(defineSchema(one))));
        expect(texts[0]).toBe(texts[1] ?? "");
      }),
      drawRuns(1000),
    );
  });
});
