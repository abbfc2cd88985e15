import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "./mod.ts";

const PLAIN = { required: false, unique: false, index: false };

describe("a builder returns plain data:", () => {
  test.each([
    { name: "string", column: t.string(), want: { kind: "string" } },
    { name: "number", column: t.number(), want: { kind: "number" } },
    { name: "integer", column: t.integer(), want: { kind: "integer" } },
    { name: "decimal", column: t.decimal(), want: { kind: "decimal" } },
    { name: "boolean", column: t.boolean(), want: { kind: "boolean" } },
    { name: "uuid", column: t.uuid(), want: { kind: "uuid" } },
    { name: "timestamp", column: t.timestamp(), want: { kind: "timestamp" } },
    { name: "date", column: t.date(), want: { kind: "date" } },
    { name: "json", column: t.json(), want: { kind: "json" } },
    { name: "enum", column: t.enum(["b", "a"]), want: { kind: "enum", values: ["b", "a"] } },
    { name: "ref", column: t.ref("todos"), want: { kind: "ref", table: "todos" } },
    {
      name: "ref with cascade",
      column: t.ref("todos", { onDelete: "cascade" }),
      want: { kind: "ref", table: "todos", onDelete: "cascade" },
    },
    {
      name: "ref with set null",
      column: t.ref("todos", { onDelete: "set null" }).index(),
      want: { kind: "ref", table: "todos", onDelete: "set null", index: true },
    },
    { name: "required", column: t.string().required(), want: { kind: "string", required: true } },
    { name: "unique", column: t.string().unique(), want: { kind: "string", unique: true } },
    { name: "index", column: t.string().index(), want: { kind: "string", index: true } },
    { name: "default", column: t.number().default(0), want: { kind: "number", default: 0 } },
    {
      name: "all modifiers",
      column: t.timestamp().default("now").onUpdate("now").index().unique().required(),
      want: {
        ...{ kind: "timestamp", default: "now", onUpdate: "now" as const },
        ...{ required: true, unique: true, index: true },
      },
    },
  ])("$name", ({ column, want }) => expect(column.column).toStrictEqual({ ...PLAIN, ...want }));
});

test("a modifier returns a new frozen column and leaves the original column unchanged", () => {
  const plain = t.string();
  const required = plain.required();
  expect(required).not.toBe(plain);
  expect(plain.column.required).toBe(false);
  for (const column of [plain, required]) {
    expect(Object.isFrozen(column)).toBe(true);
    expect(Object.isFrozen(column.column)).toBe(true);
  }
});

test("t.model() returns a new frozen model for each index and unique constraint", () => {
  const plain = t.model({ a: t.string(), b: t.string() });
  const full = plain.index("a", "b").index("b").unique("b", "a");
  expect(plain.model).toEqual({ columns: plain.model.columns, indexes: [], uniques: [] });
  expect(full.model.indexes).toEqual([["a", "b"], ["b"]]);
  expect(full.model.uniques).toEqual([["b", "a"]]);
  expect(Object.isFrozen(full) && Object.isFrozen(full.model)).toBe(true);
});

test("defineSchema() returns a frozen schema and never throws", () => {
  const tables = { todos: { title: t.string() } };
  expect(defineSchema(tables)).toEqual({ tables });
  expect(Object.isFrozen(defineSchema(tables))).toBe(true);
  for (const junk of [undefined, null, 1, "x", [], () => 1]) {
    expect(() => Reflect.apply(defineSchema, undefined, [junk])).not.toThrow();
  }
});
