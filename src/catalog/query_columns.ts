/** The columns that a query can name, by their number in a plan. @module */
import type { ColumnSet } from "./column_set.ts";

/** The id and then the columns by name: the same order for every app with this column set. A plan counts from 1. */
export function queryColumns({ columns }: ColumnSet): ColumnSet["columns"] {
  return [{ name: "id", kind: "uuid" }, ...columns.toSorted((a, b) => (a.name < b.name ? -1 : 1))];
}
