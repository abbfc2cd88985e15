/** What a definition declares of a table, a column or a change. Pure. @module */
import type { Definition, NamedColumn, TableDefinition } from "../../schema/mod.ts";
import type { Change } from "./change.ts";

/** Whether a definition has what a change is about: a table, a column or an enum value; or, of a rename, the new name. */
export function hasChanged(definition: Definition, change: Change, to?: string): boolean {
  if (!("column" in change)) return findTable(definition, to ?? change.table) !== undefined;
  const column = findColumn(definition, change.table, to ?? change.column);
  if (change.kind === "drop_value") return column?.values?.includes(change.value) === true;
  return column !== undefined;
}

/** Whether a rename leads from one definition to the other. */
export function isRename(
  change: Extract<Change, { to: string }>,
  { before, after }: { before: Definition; after: Definition },
): boolean {
  const has = (definition: Definition, to?: string) => hasChanged(definition, change, to);
  return has(before) && !has(before, change.to) && has(after, change.to) && !has(after);
}

export function findTable(definition: Definition, table: string): TableDefinition | undefined {
  return definition.tables.find(({ name }) => name === table);
}

export function findColumn(
  definition: Definition,
  table: string,
  column: string,
): NamedColumn | undefined {
  return findTable(definition, table)?.columns.find(({ name }) => name === column);
}
