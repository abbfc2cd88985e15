import { describe, expect, test } from "bun:test";
import { messagesOf, UUID, withColumn } from "../../test/support/definitions.ts";
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
  { kind: "string", value: 1, wanted: "must be a string without" },
  { kind: "string", value: "a\u0000", wanted: "must be a string without U+0000" },
  {
    kind: "string",
    value: "\ud83d",
    wanted: "must be a string without U+0000 or lone surrogates",
  },
  { kind: "string", value: "x".repeat(1023), wanted: "must be at most 1024 bytes of JSON" },
  { kind: "number", value: "1", wanted: "must be a finite number" },
  { kind: "number", value: Number.NaN, wanted: "must be a finite number" },
  { kind: "number", value: Number.POSITIVE_INFINITY, wanted: "must be a finite number" },
  { kind: "decimal", value: 1.5, wanted: "must be a string of digits" },
  { kind: "decimal", value: "1e5", wanted: "must be a string of digits" },
  { kind: "boolean", value: 0, wanted: "must be true or false" },
  { kind: "uuid", value: "x", wanted: "must be a uuid string" },
  { kind: "integer", value: 1.5, wanted: "must be a whole number" },
  { kind: "integer", value: 2 ** 53, wanted: "must be a whole number" },
  { kind: "date", value: "now", wanted: 'must be "today" or a date' },
  { kind: "date", value: "2026-02-29", wanted: 'must be "today" or a date' },
  { kind: "timestamp", value: "2026-01-02", wanted: 'must be "now" or an ISO 8601 time' },
  { kind: "timestamp", value: "NOW", wanted: 'must be "now" or an ISO 8601 time' },
  { kind: "timestamp", value: new Date(0), wanted: 'must be "now" or an ISO 8601 time' },
  { kind: "json", value: undefined, wanted: "must be a JSON value" },
  { kind: "json", value: { at: new Date(0) }, wanted: "must be a JSON value" },
  { kind: "json", value: [new Map()], wanted: "must be a JSON value" },
  { kind: "json", value: [undefined], wanted: "must be a JSON value" },
  { kind: "json", value: { toJSON: () => 1 }, wanted: "must be a JSON value" },
  { kind: "json", value: 1n, wanted: "must be a JSON value" },
  { kind: "json", value: ["\u0000"], wanted: "must be a JSON value without U+0000" },
  { kind: "json", value: { "\ud83d": 1 }, wanted: "must be a JSON value without U+0000" },
  { kind: "json", value: "x".repeat(1100), wanted: "must be at most 1024 bytes" },
  { kind: "json", value: [1e40], wanted: "must be a JSON value" },
  { kind: "json", value: { small: -1e-40 }, wanted: "must be a JSON value" },
  { kind: "json", value: nest(59), wanted: "must be a JSON value" },
  { kind: "enum", values: ["a"], value: "b", wanted: "must be one of the column's values" },
  { kind: "ref", table: "todos", value: UUID, wanted: "a reference cannot have a default" },
  ...["string", "number", "json", "timestamp"].map((kind) => ({
    kind,
    value: null,
    wanted: "leave out .default()",
  })),
];

describe("readDefinition() rejects the default", () => {
  test.each(DEFAULTS.map((row) => ({ row, name: toName(row.value) })))(
    "$name of a $row.kind column",
    ({ row }) => {
      const { value, wanted, ...column } = row;
      const messages = messagesOf(withColumn({ ...column, default: value }));
      expect(messages).toHaveLength(1);
      expect(messages[0]).toStartWith("Cannot use ");
      expect(messages[0]).toContain(`as the default of this ${column.kind} column: ${wanted}`);
    },
  );
});

function toName(value: unknown): string {
  return quote(Bun.inspect(value, { depth: 1 }).replace(/\s+/g, " "));
}
