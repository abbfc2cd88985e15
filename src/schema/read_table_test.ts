import { describe, expect, test } from "bun:test";
import { AB, expectOneMessage, MANY, PLAIN, withTable } from "../../test/support/definitions.ts";
import { readDefinition } from "./mod.ts";

describe("readDefinition() rejects a table with", () => {
  test.each([
    { name: "columns that are not a list", table: { columns: {} } },
    { name: "a column that is not an object", table: { columns: [null] } },
    { name: "a column without a name", table: { columns: [PLAIN] } },
    { name: "a duplicate column", table: { columns: [AB[0], AB[0]] } },
    {
      name: "column names that differ only in case",
      table: { columns: [AB[0], { ...PLAIN, name: "A" }] },
    },
    { name: "201 columns", table: { columns: MANY } },
    { name: "an unknown key", table: { comment: "" } },
    { name: "indexes that are not a list", table: { indexes: 1 } },
    { name: "an index without columns", table: { indexes: [[]] } },
    { name: "an index on an undeclared column", table: { uniques: [["a"]] } },
    { name: "a duplicate column in an index", table: { columns: AB, indexes: [["a", "a"]] } },
    {
      name: "a duplicate index",
      table: {
        columns: AB,
        indexes: [
          ["a", "b"],
          ["a", "b"],
        ],
      },
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
    },
    {
      name: "two indexes with one derived name",
      table: { columns: AB, indexes: [["a__b"], ["a", "b"]] },
    },
    {
      name: "an index on json",
      table: { columns: [...AB, { ...PLAIN, name: "j", kind: "json" }], indexes: [["a", "j"]] },
    },
    {
      name: "an index on 32 columns",
      table: { columns: MANY.slice(0, 32), indexes: [MANY.slice(0, 32).map(({ name }) => name)] },
    },
    {
      name: "an index on 9 decimals",
      table: {
        columns: MANY.slice(0, 9).map((column) => ({ ...column, kind: "decimal" })),
        indexes: [MANY.slice(0, 9).map(({ name }) => name)],
      },
    },
    {
      name: "defaults of more than 8 KB in total",
      table: {
        columns: MANY.slice(0, 9).map((column) => ({ ...column, default: "x".repeat(1000) })),
      },
    },
    {
      name: "5 columns that updates set",
      table: {
        columns: MANY.slice(0, 5).map((column) => ({
          ...column,
          kind: "timestamp",
          default: "now",
          onUpdate: "now",
        })),
      },
    },
    {
      name: "17 indexes",
      table: { columns: MANY.slice(0, 17).map((column) => ({ ...column, index: true })) },
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
    },
  ])("$name", ({ table }) => void expectOneMessage(withTable(table)));
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
