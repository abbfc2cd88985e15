import { describe, expect, test } from "bun:test";
import { expectIssues, UUID, withColumn } from "../../test/support/definitions.ts";
import { quote } from "../std/quote.ts";
import { readDefinition } from "./mod.ts";

function nest(depth: number): unknown {
  return JSON.parse("[".repeat(depth) + "]".repeat(depth));
}

describe("readDefinition() records the default", () => {
  test.each([
    { kind: "string", value: "", want: "" },
    { kind: "string", value: "x".repeat(1022), want: "x".repeat(1022) },
    { kind: "number", value: -0, want: 0 },
    { kind: "number", value: 1e308, want: 1e308 },
    { kind: "decimal", value: "-12.50", want: "-12.50" },
    { kind: "boolean", value: false, want: false },
    { kind: "uuid", value: UUID, want: UUID.toLowerCase() },
    { kind: "timestamp", value: "now", want: "now" },
    { kind: "date", value: "today", want: "today" },
    { kind: "integer", value: -9007199254740991, want: -9007199254740991 },
    { kind: "date", value: "0001-01-01", want: "0001-01-01" },
    {
      kind: "timestamp",
      value: "2026-01-02T01:00:00.50+01:00",
      want: "2026-01-02T00:00:00.5+00:00",
    },
    { kind: "json", value: { toJSON: 1, a: [null, "x"] }, want: { toJSON: 1, a: [null, "x"] } },
    { kind: "json", value: [9.9e39, -1e-39, 0], want: [9.9e39, -1e-39, 0] },
    { kind: "json", value: nest(58), want: nest(58) },
    { kind: "enum", values: ["a", "b"], value: "b", want: "b" },
  ])("$value of a $kind column", ({ value, want, ...column }) => {
    const read = readDefinition(withColumn({ ...column, default: value }));
    expect(read).toHaveProperty("definition.tables.0.columns.0.default", want);
  });
});

const DEFAULTS = [
  { kind: "string", value: 1 },
  { kind: "string", value: "a\u0000" },
  { kind: "string", value: "\ud83d" },
  { kind: "string", value: "x".repeat(1023) },
  { kind: "number", value: "1" },
  { kind: "number", value: Number.NaN },
  { kind: "number", value: Number.POSITIVE_INFINITY },
  { kind: "decimal", value: 1.5 },
  { kind: "decimal", value: "1e5" },
  { kind: "boolean", value: 0 },
  { kind: "uuid", value: "x" },
  { kind: "integer", value: 1.5 },
  { kind: "integer", value: 2 ** 53 },
  { kind: "date", value: "now" },
  { kind: "date", value: "2026-02-29" },
  { kind: "timestamp", value: "2026-01-02" },
  { kind: "timestamp", value: "NOW" },
  { kind: "timestamp", value: new Date(0) },
  { kind: "json", value: undefined },
  { kind: "json", value: { at: new Date(0) } },
  { kind: "json", value: [new Map()] },
  { kind: "json", value: [undefined] },
  { kind: "json", value: { toJSON: () => 1 } },
  { kind: "json", value: 1n },
  { kind: "json", value: ["\u0000"] },
  { kind: "json", value: { "\ud83d": 1 } },
  { kind: "json", value: "x".repeat(1100) },
  { kind: "json", value: [1e40] },
  { kind: "json", value: { small: -1e-40 } },
  { kind: "json", value: nest(59) },
  { kind: "enum", values: ["a"], value: "b" },
  { kind: "ref", table: "todos", value: UUID },
  ...["string", "number", "json", "timestamp"].map((kind) => ({ kind, value: null })),
];

describe("readDefinition() rejects the default", () => {
  test.each(DEFAULTS.map((row) => ({ row, name: toName(row.value) })))(
    "$name of a $row.kind column",
    ({ row }) => {
      const { value, ...column } = row;
      expectIssues(readDefinition(withColumn({ ...column, default: value })), [
        { table: "todos", column: "c", names: [`this ${column.kind} column`] },
      ]);
    },
  );
});

function toName(value: unknown): string {
  return quote(Bun.inspect(value, { depth: 1 }).replace(/\s+/g, " "));
}
