import { describe, expect, test } from "bun:test";
import {
  expectOneMessage,
  MANY,
  messagesOf,
  PLAIN,
  withTable,
} from "../../test/support/definitions.ts";
import { readDefinition } from "./mod.ts";

test("readDefinition() accepts circular references and sorts tables by name", () => {
  const table = (name: string, target: string) => ({
    name,
    columns: [{ ...PLAIN, name: "r", kind: "ref", table: target }],
    indexes: [],
    uniques: [],
  });
  const tables = [table("b", "a"), table("c", "c"), table("a", "b")];
  const reading = readDefinition({ version: 1, tables });
  const read = "definition" in reading ? reading.definition.tables : [];
  expect(read.map(({ name }) => name)).toEqual(["a", "b", "c"]);
});

const EMPTY = { columns: [], indexes: [], uniques: [] };

describe("readDefinition() rejects", () => {
  test.each(
    Object.entries({
      nothing: undefined,
      "a text": "{}",
      "a list": [],
      "an unknown version": { version: 2, tables: [] },
      "no tables": { version: 1 },
      "an unknown key": { version: 1, tables: [], sql: "" },
      "an own key named __proto__": JSON.parse('{"version":1,"tables":[],"__proto__":{}}'),
      "a table that is not an object": { version: 1, tables: [1] },
      "a table without a name": { version: 1, tables: [EMPTY] },
      "a duplicate table": {
        version: 1,
        tables: [
          { ...EMPTY, name: "a" },
          { ...EMPTY, name: "a" },
        ],
      },
      "501 tables": {
        version: 1,
        tables: Array.from({ length: 501 }, (_, i) => ({ ...EMPTY, name: `t${i}` })),
      },
    }),
  )("%s", (_, value) => void expectOneMessage(value));
});

test("readDefinition() ignores keys inherited from a prototype", () => {
  const value = Object.create({ version: 1, tables: [] });
  expect(messagesOf(value)).toEqual([
    expect.stringContaining("version undefined"),
    expect.stringContaining("tables: must be a list"),
  ]);
});

test("readDefinition() reports max 200 errors, and counts the rest", () => {
  const columns = MANY.slice(0, 200).map(({ name }) => ({ ...PLAIN, name, unique: 0, index: 0 }));
  const messages = messagesOf(withTable({ columns }));
  expect(messages).toHaveLength(200);
  expect(messages.at(-1)).toContain("201 more errors");
});
