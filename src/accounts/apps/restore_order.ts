/** The order for storing rows of tables that reference each other. Pure. @module */
import type { TableDefinition } from "../../dsl/mod.ts";

/** The tables, each after the tables that it references; a circle starts at an optional reference. */
export function orderTables(tables: readonly TableDefinition[]): TableDefinition[] {
  const ordered: TableDefinition[] = [];
  let rest = [...tables];
  while (rest.length > 0) {
    const names = new Set(rest.map(({ name }) => name));
    const open = ({ name, columns }: TableDefinition) =>
      columns.filter(({ table }) => table !== undefined && table !== name && names.has(table));
    const next =
      rest.find((table) => open(table).length === 0) ??
      rest.find((table) => open(table).every(({ required }) => !required)) ??
      rest[0];
    if (next !== undefined) ordered.push(next);
    rest = rest.filter((table) => table !== next);
  }
  return ordered;
}

/** A table, and the references that are left empty until all rows are stored. */
export type RestoreStep = { table: TableDefinition; empty: string[] };
export type RestorePlan = {
  steps: RestoreStep[];
  /** Required references to tables that come later: `todos.project`. */
  blockers: string[];
};

/** The steps for storing the rows of tables in this order. */
export function planRestore(ordered: readonly TableDefinition[]): RestorePlan {
  const positions = new Map(ordered.map(({ name }, position) => [name, position]));
  const steps: RestoreStep[] = [];
  const blockers: string[] = [];
  for (const [position, table] of ordered.entries()) {
    const deferred = table.columns.filter(
      (column) => (positions.get(column.table ?? "") ?? -1) >= position,
    );
    const empty = deferred.filter(({ required }) => !required).map(({ name }) => name);
    const needed = deferred.filter((column) => column.required && column.table !== table.name);
    steps.push({ table, empty });
    blockers.push(...needed.map(({ name }) => `${table.name}.${name}`));
  }
  return { steps, blockers };
}
