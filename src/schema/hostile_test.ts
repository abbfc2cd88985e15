import { describe, expect, test } from "bun:test";
import { AB, withColumn, withTable } from "../../test/support/definitions.ts";
import { measureProcessor } from "../../test/support/processor_time.ts";
import { checkRules, type NamedColumn, readDefinition, type TableDefinition } from "./mod.ts";

const MEGABYTE = 1_000_000;
const DEEP = `${"[".repeat(MEGABYTE / 2)}${"]".repeat(MEGABYTE / 2)}`;

/** Converting the value to text is the minimal cost. A check can cost a multiple of it, never its square. */
const MAX_TIMES_TEXT = 100;
const CLOCK_FLOOR_MS = 5;

describe("readDefinition() runs in linear time on a megabyte of", () => {
  test.each(
    Object.entries({
      "nested values as a default": withColumn({ kind: "json", default: nest(MEGABYTE / 10) }),
      "nested values as a table": withTable({ columns: nest(MEGABYTE / 10) }),
      "text as a name": withTable({ name: DEEP }),
      "text as a default": withColumn({ default: DEEP }),
      "digits as a decimal": withColumn({ kind: "decimal", default: "1".repeat(MEGABYTE) }),
      "digits as a timestamp": withColumn({ kind: "timestamp", default: "1".repeat(MEGABYTE) }),
      "a list as a default": withColumn({ kind: "json", default: Array(MEGABYTE).fill(0) }),
      "enum values": withColumn({ kind: "enum", values: Array(MEGABYTE).fill("a") }),
      "unknown keys": Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 0])),
      indexes: withTable({ columns: AB, indexes: Array(MEGABYTE / 5).fill(["a"]) }),
      roles: withRules(Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`r${i}`, {}]))),
      alternatives: withRules({ a: { read: Array(MEGABYTE / 5).fill({ a: 1 }) } }),
      "values of a rule": withRules({ a: { read: { a: Array(MEGABYTE).fill(0) } } }),
      "columns of a rule": withRules({
        a: { read: Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`c${i}`, 0])) },
      }),
      "a text in a rule": withRules({ a: { read: { a: DEEP } } }),
      "nested rules": withRules({ a: { read: nest(MEGABYTE / 10) } }),
    }),
  )("%s", async (_, value) => {
    const text = await measureProcessor(() => DEEP.split(""));
    const { ms, result: reading } = await measureProcessor(() => readDefinition(value));
    expect(ms).toBeLessThan(MAX_TIMES_TEXT * Math.max(text.ms, CLOCK_FLOOR_MS));
    expect(reading).toHaveProperty("issues");
    expect(JSON.stringify(reading).length).toBeLessThan(100_000);
  });
});

test("checkRules() runs in linear time for many tables, roles and references", async () => {
  const text = await measureProcessor(() => DEEP.split(""));
  const definition = { tables: Array.from({ length: 500 }, (_, i) => makeRing(i)) };
  const { ms, result } = await measureProcessor(() => checkRules(definition));
  expect(ms).toBeLessThan(MAX_TIMES_TEXT * Math.max(text.ms, CLOCK_FLOOR_MS));
  expect(result).toHaveLength(200);
});

/** A table whose references form many cycles with the others. */
function makeRing(i: number): TableDefinition {
  const columns = Array.from({ length: 14 }, (_, j): NamedColumn => {
    const flags = { required: false, unique: false, index: false };
    return {
      ...flags,
      name: `c${j}`,
      kind: "ref",
      table: `t${(i + j + 1) % 500}`,
      onDelete: "cascade",
    };
  });
  const read = columns.map(({ name }) => ({ [name]: { readable: true } as const }));
  const roles = Array.from({ length: 4 }, (_, role) => [`r${role}`, { read, delete: read }]);
  return {
    name: `t${i}`,
    columns,
    indexes: [],
    uniques: [],
    rules: { allow: Object.fromEntries(roles) },
  };
}

function nest(depth: number): unknown {
  let value: unknown = [];
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

function withRules(allow: object): object {
  return withTable({ columns: AB, rules: { allow } });
}
