import { describe, expect, test } from "bun:test";
import { readDefinition } from "../../src/dsl/mod.ts";
import { AB, MANY, messagesOf, PLAIN, withTable } from "./definitions.ts";

describe("readDefinition() refuses a table with", () => {
  test.each([
    {
      name: "columns that are no list",
      table: { columns: {} },
      message: "Cannot read columns: must be a list, not an object",
    },
    {
      name: "a column that is no object",
      table: { columns: [null] },
      message: "Cannot read column 1: must be an object, not null",
    },
    {
      name: "a column without name",
      table: { columns: [PLAIN] },
      message: "Cannot read the name of column 1: must be a string, not undefined",
    },
    {
      name: "a column twice",
      table: { columns: [AB[0], AB[0]] },
      message: 'Cannot declare "a": it is already there',
    },
    {
      name: "columns that differ in case",
      table: { columns: [AB[0], { ...PLAIN, name: "A" }] },
      message: 'Cannot declare "A": "a" differs from it in case only',
    },
    {
      name: "201 columns",
      table: { columns: MANY },
      message: "Cannot take 201 columns: must be at most 200",
    },
    {
      name: "an unknown key",
      table: { comment: "" },
      message: 'Cannot read table 1: the key "comment" is not known',
    },
    {
      name: "indexes that are no list",
      table: { indexes: 1 },
      message: "Cannot read lists of columns: must be a list, not 1",
    },
    {
      name: "an index of no columns",
      table: { indexes: [[]] },
      message: "Cannot make an index of no columns: must name one at least",
    },
    {
      name: "an index on nothing declared",
      table: { uniques: [["a"]] },
      message: 'Cannot make a unique of "a": the table declares no column "a"',
    },
    {
      name: "a column twice in an index",
      table: { columns: AB, indexes: [["a", "a"]] },
      message: 'Cannot make an index of "a": the list names it twice',
    },
    {
      name: "an index twice",
      table: {
        columns: AB,
        indexes: [
          ["a", "b"],
          ["a", "b"],
        ],
      },
      message: "Cannot make an index of (a, b): it is already there",
    },
    {
      name: "a unique twice",
      table: {
        columns: AB,
        uniques: [
          ["a", "b"],
          ["a", "b"],
        ],
      },
      message: "Cannot make a unique of (a, b): it is already there",
    },
    {
      name: "two indexes of one derived name",
      table: { columns: AB, indexes: [["a__b"], ["a", "b"]] },
      message: "Cannot make an index of (a, b): it would be called as the one of (a__b)",
    },
    {
      name: "an index on json",
      table: { columns: [...AB, { ...PLAIN, name: "j", kind: "json" }], indexes: [["a", "j"]] },
      message: 'Cannot make an index of "j": no index helps to look inside a json column',
    },
    {
      name: "an index of 32 columns",
      table: { columns: MANY.slice(0, 32), indexes: [MANY.slice(0, 32).map(({ name }) => name)] },
      message: "Cannot take 32 columns of an index: must be at most 31",
    },
    {
      name: "17 indexes",
      table: { columns: MANY.slice(0, 17).map((column) => ({ ...column, index: true })) },
      message: "Cannot take 17 indexes: must be at most 16, uniques and references included",
    },
    {
      name: "17 indexes of every sort",
      table: {
        columns: [
          ...AB,
          ...MANY.slice(0, 14).map((column) => ({ ...column, kind: "ref", table: "todos" })),
          { ...PLAIN, name: "u", unique: true },
        ],
        indexes: [["a", "b"]],
        uniques: [["a", "b"]],
      },
      message: "Cannot take 17 indexes: must be at most 16, uniques and references included",
    },
  ])("$name", ({ table, message }) => expect(messagesOf(withTable(table))).toEqual([message]));
});

test("readDefinition() makes a list of one column the flag of that column", () => {
  const listed = readDefinition(
    withTable({ columns: [AB[0]], indexes: [["a"]], uniques: [["a"]] }),
  );
  const flagged = readDefinition(
    withTable({ columns: [{ ...PLAIN, name: "a", index: true, unique: true }] }),
  );
  expect(listed).toEqual(flagged);
  expect(listed).toHaveProperty("definition.tables.0.indexes", []);
});
