/** The tables of the model as an author sends them: columns, and rules in the forms that an author writes. @module */
import type { ModelColumn, ModelTable } from "./rules.ts";

/** A schema as plain data, before it is read. */
export function toSchema(tables: readonly ModelTable[]): object {
  return { version: 1, tables: tables.map(toTable).sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

function toTable({ name, columns, indexes, uniques, allow }: ModelTable) {
  const owner = columns.filter((column) => column.owner).map((column) => column.name);
  return {
    ...{ name, columns: columns.map(toColumn), indexes, uniques },
    rules: { allow, owner, only: toRoles(columns, "only"), setBy: toRoles(columns, "setBy") },
  };
}

function toColumn({ owner: _, only: __, setBy: ___, ...column }: ModelColumn): object {
  return column;
}

function toRoles(columns: readonly ModelColumn[], key: "only" | "setBy"): object {
  return Object.fromEntries(
    columns.flatMap(({ name, [key]: roles }) => (roles === undefined ? [] : [[name, roles]])),
  );
}
