import { describe, expect, test } from "bun:test";
import { readDefinition } from "../../src/dsl/mod.ts";
import { AB, MANY, messagesOf, PLAIN, withTable } from "./definitions.ts";

describe("readDefinition() rejects a table with", () => {
  test.each([
    {
      name: "columns that are not a list",
      table: { columns: {} },
      message: "Cannot read columns: must be a list, not an object",
    },
    {
      name: "a column that is not an object",
      table: { columns: [null] },
      message: "Cannot read column 1: must be an object, not null",
    },
    {
      name: "a column without a name",
      table: { columns: [PLAIN] },
      message: "Cannot read the name of column 1: must be a string, not undefined",
    },
    {
      name: "a duplicate column",
      table: { columns: [AB[0], AB[0]] },
      message: 'Cannot declare "a": it is declared twice',
    },
    {
      name: "column names that differ only in case",
      table: { columns: [AB[0], { ...PLAIN, name: "A" }] },
      message: 'Cannot declare "A": "a" differs from it only in case',
    },
    {
      name: "201 columns",
      table: { columns: MANY },
      message: "Cannot use 201 columns: at most 200 are allowed",
    },
    {
      name: "an unknown key",
      table: { comment: "" },
      message: 'Cannot read table 1: unknown key "comment"',
    },
    {
      name: "indexes that are not a list",
      table: { indexes: 1 },
      message: "Cannot read lists of columns: must be a list, not 1",
    },
    {
      name: "an index without columns",
      table: { indexes: [[]] },
      message: "Cannot create an index on no columns: must name at least one",
    },
    {
      name: "an index on an undeclared column",
      table: { uniques: [["a"]] },
      message: 'Cannot create a unique constraint on "a": the table declares no column "a"',
    },
    {
      name: "a duplicate column in an index",
      table: { columns: AB, indexes: [["a", "a"]] },
      message: 'Cannot create an index on "a": the list names it twice',
    },
    {
      name: "a duplicate index",
      table: {
        columns: AB,
        indexes: [
          ["a", "b"],
          ["a", "b"],
        ],
      },
      message: "Cannot create an index on (a, b): it is declared twice",
    },
    {
      name: "a duplicate unique constraint",
      table: {
        columns: AB,
        uniques: [
          ["a", "b"],
          ["a", "b"],
        ],
      },
      message: "Cannot create a unique constraint on (a, b): it is declared twice",
    },
    {
      name: "two indexes with one derived name",
      table: { columns: AB, indexes: [["a__b"], ["a", "b"]] },
      message: "Cannot create an index on (a, b): it would have the same name as the one on (a__b)",
    },
    {
      name: "an index on json",
      table: { columns: [...AB, { ...PLAIN, name: "j", kind: "json" }], indexes: [["a", "j"]] },
      message: 'Cannot create an index on "j": an index cannot search inside JSON',
    },
    {
      name: "an index on 32 columns",
      table: { columns: MANY.slice(0, 32), indexes: [MANY.slice(0, 32).map(({ name }) => name)] },
      message: "Cannot use 32 columns of an index: at most 31 are allowed",
    },
    {
      name: "an index on 9 decimals",
      table: {
        columns: MANY.slice(0, 9).map((column) => ({ ...column, kind: "decimal" })),
        indexes: [MANY.slice(0, 9).map(({ name }) => name)],
      },
      message: "Cannot create an index on 9 decimal columns: at most 8 are allowed",
    },
    {
      name: "defaults of more than 8 KB in total",
      table: {
        columns: MANY.slice(0, 9).map((column) => ({ ...column, default: "x".repeat(1000) })),
      },
      message: "Cannot use defaults of 9018 bytes of JSON in total: at most 8192 are allowed",
    },
    {
      name: "17 indexes",
      table: { columns: MANY.slice(0, 17).map((column) => ({ ...column, index: true })) },
      message:
        "Cannot use 17 indexes: at most 16 are allowed, unique constraints and references included",
    },
    {
      name: "17 indexes of all types",
      table: {
        columns: [
          ...AB,
          ...MANY.slice(0, 14).map((column) => ({ ...column, kind: "ref", table: "todos" })),
          { ...PLAIN, name: "u", unique: true },
        ],
        indexes: [["a", "b"]],
        uniques: [["a", "b"]],
      },
      message:
        "Cannot use 17 indexes: at most 16 are allowed, unique constraints and references included",
    },
  ])("$name", ({ table, message }) => expect(messagesOf(withTable(table))).toEqual([message]));
});

test("readDefinition() converts a single-column index to the column's flag", () => {
  const listed = readDefinition(
    withTable({ columns: [AB[0]], indexes: [["a"]], uniques: [["a"]] }),
  );
  const flagged = readDefinition(
    withTable({ columns: [{ ...PLAIN, name: "a", index: true, unique: true }] }),
  );
  expect(listed).toEqual(flagged);
  expect(listed).toHaveProperty("definition.tables.0.indexes", []);
});
