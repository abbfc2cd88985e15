import { describe, expect, test } from "bun:test";
import { AB, expectOneMessage, MANY, PLAIN, withTable } from "../../test/support/definitions.ts";
import { readDefinition } from "./mod.ts";

describe("readDefinition() rejects a table with", () => {
  test.each(
    Object.entries({
      "columns that are not a list": { columns: {} },
      "a column that is not an object": { columns: [null] },
      "a column without a name": { columns: [PLAIN] },
      "a duplicate column": { columns: [AB[0], AB[0]] },
      "column names that differ only in case": { columns: [AB[0], { ...PLAIN, name: "A" }] },
      "201 columns": { columns: MANY },
      "an unknown key": { comment: "" },
      "indexes that are not a list": { indexes: 1 },
      "an index without columns": { indexes: [[]] },
      "an index on an undeclared column": { uniques: [["a"]] },
      "a duplicate column in an index": { columns: AB, indexes: [["a", "a"]] },
      "a duplicate index": {
        columns: AB,
        indexes: [
          ["a", "b"],
          ["a", "b"],
        ],
      },
      "a duplicate unique constraint": {
        columns: AB,
        uniques: [
          ["a", "b"],
          ["a", "b"],
        ],
      },
      "two indexes with one derived name": { columns: AB, indexes: [["a__b"], ["a", "b"]] },
      "an index on json": {
        columns: [...AB, { ...PLAIN, name: "j", kind: "json" }],
        indexes: [["a", "j"]],
      },
      "an index on 32 columns": {
        columns: MANY.slice(0, 32),
        indexes: [MANY.slice(0, 32).map(({ name }) => name)],
      },
      "an index on 9 decimals": {
        columns: MANY.slice(0, 9).map((column) => ({ ...column, kind: "decimal" })),
        indexes: [MANY.slice(0, 9).map(({ name }) => name)],
      },
      "defaults of more than 8 KB in total": {
        columns: MANY.slice(0, 9).map((column) => ({ ...column, default: "x".repeat(1000) })),
      },
      "5 columns that updates set": {
        columns: MANY.slice(0, 5).map((column) => ({
          ...column,
          kind: "timestamp",
          default: "now",
          onUpdate: "now",
        })),
      },
      "17 indexes": { columns: MANY.slice(0, 17).map((column) => ({ ...column, index: true })) },
      "17 indexes of all types": {
        columns: [
          ...AB,
          ...MANY.slice(0, 14).map((column) => ({ ...column, kind: "ref", table: "todos" })),
          { ...PLAIN, name: "u", unique: true },
        ],
        indexes: [["a", "b"]],
        uniques: [["a", "b"]],
      },
    }),
  )("%s", (_, table) => void expectOneMessage(withTable(table)));
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
