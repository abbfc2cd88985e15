/**
 * Compares a declaration with a physical table. Apps that do not own the table need no other check: they change
 * nothing, so each difference is either harmless or a conflict.
 *
 * @module
 */

import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { isSubsequence } from "../../std/sort_lists.ts";
import { indexesOf, keysOf } from "../catalog/mod.ts";
import type { Compared } from "../conflicts.ts";

/** A difference between a declaration and the table. */
export type Difference = Compared & { table: string; column?: string };

/** The properties of a column that every declaration must share. */
const ASPECTS: readonly { name: string; show: (column: NamedColumn) => string }[] = [
  { name: "type", show: showType },
  {
    name: "required",
    show: (column) => (column.required ? "a required column" : "an optional column"),
  },
  { name: "default", show: showDefault },
  { name: "onDelete", show: showOnDelete },
  {
    name: "onUpdate",
    show: (column) =>
      column.onUpdate === undefined ? "no onUpdate" : `onUpdate ${column.onUpdate}`,
  },
];

export function showType(column: NamedColumn): string {
  return column.table !== undefined ? `ref(${column.table})` : column.kind;
}

/** Every difference by which another app's declaration does not fit the table. */
export function findDifferences(declared: TableDefinition, table: TableDefinition): Difference[] {
  return [
    ...table.columns.flatMap((column) => findLeftOut(declared, table.name, column)),
    ...declared.columns.flatMap((column) => findColumnDifferences(column, table)),
    ...findExtraKeys(declared, table),
  ];
}

/** An undeclared required column without a default: every create by that app would fail. */
function findLeftOut(declared: TableDefinition, table: string, column: NamedColumn): Difference[] {
  const isNeeded = column.required && column.default === undefined;
  if (!isNeeded || declared.columns.some((other) => other.name === column.name)) return [];
  return [
    {
      table,
      column: column.name,
      wanted: "no such column",
      found: "a required column without a default",
    },
  ];
}

function findColumnDifferences(column: NamedColumn, table: TableDefinition): Difference[] {
  const there = table.columns.find((other) => other.name === column.name);
  const at = { table: table.name, column: column.name };
  if (there === undefined) return [{ ...at, wanted: "this column", found: "no such column" }];
  const differences = ASPECTS.filter(({ show }) => show(column) !== show(there)).map(
    ({ show }) => ({
      ...at,
      wanted: show(column),
      found: show(there),
    }),
  );
  const lacking =
    isSubsequence(column.values ?? [], there.values ?? []) || column.kind !== there.kind;
  if (lacking) return differences;
  return [...differences, { ...at, wanted: showValues(column), found: showValues(there) }];
}

/** Unique constraints and indexes belong to the table: an app can declare fewer, but no others. */
function findExtraKeys(declared: TableDefinition, table: TableDefinition): Difference[] {
  const found = new Set(
    [...keysOf(table), ...indexesOf(table)].map((constraint) => constraint.name),
  );
  return [...keysOf(declared), ...indexesOf(declared)]
    .filter((constraint) => !found.has(constraint.name))
    .map(({ kind, columns }) => {
      const [article, term] = kind === "key" ? ["a", "unique constraint"] : ["an", "index"];
      return {
        table: table.name,
        wanted: `${article} ${term} on (${columns.join(", ")})`,
        found: `no such ${term}`,
      };
    });
}

export function showDefault(column: NamedColumn): string {
  return column.default === undefined
    ? "no default"
    : `the default ${canonicalJson(column.default)}`;
}

export function showOnDelete({ onDelete }: NamedColumn): string {
  return onDelete === undefined ? "no onDelete" : `onDelete ${onDelete}`;
}

export function showValues(column: NamedColumn): string {
  return `the values ${JSON.stringify(column.values ?? [])}`;
}
