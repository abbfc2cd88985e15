/** A table after its owner's push: what is declared, and what is no longer declared but stays. Drops nothing. @module */
import type { TableDefinition } from "../dsl/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import { sortLists } from "../std/sort_lists.ts";

type Lists = readonly (readonly string[])[];

/** The declared columns first, in their order; then those that the database keeps. */
export function mergeTable(declared: TableDefinition, recorded: TableDefinition): TableDefinition {
  const kept = recorded.columns.filter(
    (column) => !declared.columns.some((other) => other.name === column.name),
  );
  const columns = declared.columns.map((column) => {
    const before = recorded.columns.find((other) => other.name === column.name);
    if (before === undefined) return column;
    return {
      ...column,
      unique: column.unique || before.unique,
      index: column.index || before.index,
    };
  });
  return {
    name: declared.name,
    columns: [...columns, ...kept],
    indexes: mergeLists(declared.indexes, recorded.indexes),
    uniques: mergeLists(declared.uniques, recorded.uniques),
  };
}

function mergeLists(declared: Lists, recorded: Lists): string[][] {
  const kept = recorded.filter(
    (list) => !declared.some((other) => canonicalJson(other) === canonicalJson(list)),
  );
  return sortLists([...declared, ...kept]);
}
