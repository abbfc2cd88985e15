import { describe, expect, test } from "bun:test";
import { readDefinition } from "../../src/dsl/mod.ts";
import { withColumn } from "./definitions.ts";

const LABELS = Array.from({ length: 101 }, (_, i) => `v${i}`);

describe("readDefinition() rejects a column with", () => {
  test.each([
    {
      name: "an unknown kind",
      column: { kind: "text" },
      message:
        'Cannot read kind "text": must be one of string, number, integer, decimal, boolean, uuid, timestamp, date, json, enum, ref',
    },
    {
      name: "a kind from the prototype",
      column: { kind: "constructor" },
      message:
        'Cannot read kind "constructor": must be one of string, number, integer, decimal, boolean, uuid, timestamp, date, json, enum, ref',
    },
    {
      name: "a missing flag",
      column: { required: undefined },
      message: 'Cannot read "required" undefined: must be true or false',
    },
    {
      name: "a flag of a wrong type",
      column: { unique: 1 },
      message: 'Cannot read "unique" 1: must be true or false',
    },
    {
      name: "an unknown key",
      column: { check: "1=1" },
      message: 'Cannot read column 1: unknown key "check"',
    },
    {
      name: "values without the kind enum",
      column: { values: ["a"] },
      message: 'Cannot give this string column the key "values": only enum columns have it',
    },
    {
      name: "a target without the kind ref",
      column: { table: "todos" },
      message: 'Cannot give this string column the key "table": only ref columns have it',
    },
    {
      name: "an index on json",
      column: { kind: "json", index: true },
      message: "Cannot index a json column: an index cannot search inside JSON",
    },
    {
      name: "a unique constraint on json",
      column: { kind: "json", unique: true },
      message: "Cannot index a json column: an index cannot search inside JSON",
    },
    {
      name: "an enum without a list",
      column: { kind: "enum" },
      message: "Cannot read enum values: must be a list, not undefined",
    },
    {
      name: "an enum without values",
      column: { kind: "enum", values: [] },
      message: "Cannot use an enum without values: must have at least one",
    },
    {
      name: "an enum without values that has a default",
      column: { kind: "enum", values: [], default: "a" },
      message: "Cannot use an enum without values: must have at least one",
    },
    {
      name: "101 enum values",
      column: { kind: "enum", values: LABELS },
      message: "Cannot use 101 enum values: at most 100 are allowed",
    },
    {
      name: "a duplicate enum value",
      column: { kind: "enum", values: ["a", "a"] },
      message: 'Cannot use enum value "a": it is listed twice',
    },
    {
      name: "an empty enum value",
      column: { kind: "enum", values: [""] },
      message: 'Cannot use enum value "": must be 1 to 63 bytes of UTF-8, not 0',
    },
    {
      name: "a long enum value",
      column: { kind: "enum", values: ["é".repeat(32)] },
      message: `Cannot use enum value "${"é".repeat(32)}": must be 1 to 63 bytes of UTF-8, not 64`,
    },
    {
      name: "a number as enum value",
      column: { kind: "enum", values: [1] },
      message: "Cannot use enum value 1: must be a string",
    },
    {
      name: "U+0000 in an enum value",
      column: { kind: "enum", values: ["\u0000"] },
      message: 'Cannot use enum value "\\u0000": must not contain U+0000 or lone surrogates',
    },
    {
      name: "a ref without a target",
      column: { kind: "ref" },
      message: "Cannot refer to undefined: must be the name of a table",
    },
    {
      name: "an undeclared target",
      column: { kind: "ref", table: "projects" },
      message: 'Cannot refer to "projects": this schema declares no such table',
    },
    {
      name: "a reserved target",
      column: { kind: "ref", table: "users" },
      message: 'Cannot refer to "users": the name is reserved organization-wide',
    },
    {
      name: "an unknown onDelete",
      column: { kind: "ref", table: "todos", onDelete: "restrict" },
      message: 'Cannot read onDelete "restrict": must be "cascade", "set null" or left out',
    },
    {
      name: "onUpdate without a default",
      column: { kind: "timestamp", onUpdate: "now" },
      message: 'Cannot use onUpdate "now" without the default "now": add .default("now")',
    },
    {
      name: "onUpdate and another default",
      column: { kind: "timestamp", default: "2026-01-02T03:04:05Z", onUpdate: "now" },
      message: 'Cannot use onUpdate "now" without the default "now": add .default("now")',
    },
    {
      name: "onDelete set null and required",
      column: { kind: "ref", table: "todos", onDelete: "set null", required: true },
      message: 'Cannot use onDelete "set null" on a required reference: leave out .required()',
    },
  ])("$name", ({ column, message }) => {
    expect(readDefinition(withColumn(column))).toEqual({
      issues: [
        { table: "todos", ...(message.includes("unknown key") ? {} : { column: "c" }), message },
      ],
    });
  });
});
