import { describe, expect, test } from "bun:test";
import { expectOneMessage, withColumn } from "../../test/support/definitions.ts";
import { readDefinition } from "./mod.ts";

const LABELS = Array.from({ length: 101 }, (_, i) => `v${i}`);

describe("readDefinition() rejects a column with", () => {
  test.each([
    { name: "an unknown kind", column: { kind: "text" } },
    { name: "a kind from the prototype", column: { kind: "constructor" } },
    { name: "a missing flag", column: { required: undefined } },
    { name: "a flag of a wrong type", column: { unique: 1 } },
    { name: "an unknown key", column: { check: "1=1" } },
    { name: "values without the kind enum", column: { values: ["a"] } },
    { name: "a target without the kind ref", column: { table: "todos" } },
    { name: "an index on json", column: { kind: "json", index: true } },
    { name: "a unique constraint on json", column: { kind: "json", unique: true } },
    { name: "an enum without a list", column: { kind: "enum" } },
    { name: "an enum without values", column: { kind: "enum", values: [] } },
    {
      name: "an enum without values that has a default",
      column: { kind: "enum", values: [], default: "a" },
    },
    { name: "101 enum values", column: { kind: "enum", values: LABELS } },
    { name: "a duplicate enum value", column: { kind: "enum", values: ["a", "a"] } },
    { name: "an empty enum value", column: { kind: "enum", values: [""] } },
    { name: "a long enum value", column: { kind: "enum", values: ["é".repeat(32)] } },
    { name: "a number as enum value", column: { kind: "enum", values: [1] } },
    { name: "U+0000 in an enum value", column: { kind: "enum", values: ["\u0000"] } },
    { name: "a ref without a target", column: { kind: "ref" } },
    { name: "an undeclared target", column: { kind: "ref", table: "projects" } },
    { name: "a reserved target", column: { kind: "ref", table: "users" } },
    { name: "an unknown onDelete", column: { kind: "ref", table: "todos", onDelete: "restrict" } },
    { name: "onUpdate without a default", column: { kind: "timestamp", onUpdate: "now" } },
    {
      name: "onUpdate and another default",
      column: { kind: "timestamp", default: "2026-01-02T03:04:05Z", onUpdate: "now" },
    },
    {
      name: "onDelete set null and required",
      column: { kind: "ref", table: "todos", onDelete: "set null", required: true },
    },
  ])("$name", ({ name, column }) => {
    const message = expectOneMessage(withColumn(column));
    const where = name === "an unknown key" ? {} : { column: "c" };
    expect(readDefinition(withColumn(column))).toEqual({
      issues: [{ table: "todos", ...where, message }],
    });
  });
});
