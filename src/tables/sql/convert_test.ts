/** The order in which tables are distributed, and the references that are created again afterward. */
import { expect, test } from "bun:test";
import { cases } from "../../../test/support/cases.ts";
import { orderTables } from "./convert.ts";

test.each(cases("name", "references", "tables", "circular")`
  no references                                                    |             | a b c |
  a chain in reverse order, and a table that references itself     | a-b b-c c-c | c b a |
  a circle of all tables                                           | a-b b-c c-a | a c b | a-b
  two tables that reference each other, and one that does so, too  | a-b b-c c-b | b a c | b-c
`)("orderTables() sorts $name", ({ references: text, tables, circular }) => {
  const references = text.split(" ").flatMap((name) => {
    const [child = "", parent] = name.split("-");
    return parent === undefined ? [] : [{ name, child, parent, definition: "" }];
  });
  const ordered = orderTables(["c", "a", "b"], references);
  expect(ordered.tables.join(" ")).toBe(tables);
  expect(ordered.circular.map(({ name }) => name).join(" ")).toBe(circular);
});
