/** The order in which tables are distributed, and the references that are created again afterward. */
import { expect, test } from "bun:test";
import { orderTables } from "./convert.ts";

const refer = (child: string, parent: string) => ({
  name: `${child}__${parent}`,
  child,
  parent,
  definition: "",
});

test.each([
  { name: "no references", references: [], tables: ["a", "b", "c"], circular: [] },
  {
    name: "a chain in reverse alphabetical order, and a table that references itself",
    references: [refer("a", "b"), refer("b", "c"), refer("c", "c")],
    tables: ["c", "b", "a"],
    circular: [],
  },
  {
    name: "a circle of all tables",
    references: [refer("a", "b"), refer("b", "c"), refer("c", "a")],
    tables: ["a", "c", "b"],
    circular: ["a__b"],
  },
  {
    name: "two tables that reference each other, and a table that references both",
    references: [refer("a", "b"), refer("b", "c"), refer("c", "b")],
    tables: ["b", "a", "c"],
    circular: ["b__c"],
  },
])("orderTables() sorts $name", ({ references, tables, circular }) => {
  const ordered = orderTables(["c", "a", "b"], references);
  expect(ordered.tables).toEqual([...tables]);
  expect(ordered.circular.map(({ name }) => name)).toEqual([...circular]);
});
