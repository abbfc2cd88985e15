/**
 * The conflicts of an app with a table of another app. The app learns which of its own declarations conflict and, for
 * earlier declarations, also why. It never learns types, values or defaults that it did not declare.
 *
 * @module
 */
import type { NamedColumn, TableDefinition } from "../dsl/mod.ts";
import { type Conflict, type FoundConflict, findConflicts, showValues } from "./compare.ts";
import type { TableState } from "./state.ts";

/** Every conflict of an app's declaration; `before` is its previous declaration of the table. */
export function findForeignConflicts(
  declared: TableDefinition,
  found: TableState,
  before: TableDefinition | undefined,
): Conflict[] {
  const { definition, ownerSlug } = found;
  const remedy = `declare it as its owner "${ownerSlug}" does, ask "${ownerSlug}" to change it, or choose another table name`;
  const isReported = (name: string) =>
    before?.columns.some((column) => column.name === name) === true;
  const isThere = (name: string) => definition.columns.some((column) => column.name === name);
  const conflicts = findConflicts(declared, definition, remedy).map((conflict) => {
    if (conflict.column !== undefined && !isThere(conflict.column))
      return lacking(conflict, ownerSlug);
    return conflict.column !== undefined && isReported(conflict.column)
      ? conflict
      : withhold(conflict, declared);
  });
  const added = declared.columns.filter(
    ({ name }) => !isReported(name) && !conflicts.some(({ column }) => column === name),
  );
  return [
    ...new Map(conflicts.map((conflict) => [JSON.stringify(conflict), conflict])).values(),
    ...(before === undefined ? [] : added.flatMap((column) => findFewerValues(column, found))),
  ];
}

/** The app's rows have the owner's defaults in a column that the app has not declared yet, so they can have any enum value. */
function findFewerValues(column: NamedColumn, { definition, ownerSlug }: TableState): Conflict[] {
  const there = definition.columns.find(({ name }) => name === column.name);
  if (column.values?.length === there?.values?.length) return [];
  return [
    {
      table: definition.name,
      column: column.name,
      wanted: showValues(column),
      reason: "are not all values of the column",
      remedy: `declare all values, as its owner "${ownerSlug}" does, because rows of this app can have any of them`,
    },
  ];
}

/** A column that only the app declares, not the owner. */
function lacking({ table, column, wanted }: FoundConflict, ownerSlug: string): Conflict {
  const reason = `the table's owner "${ownerSlug}" does not declare`;
  const remedy = `leave it out, ask "${ownerSlug}" to declare it, or choose another table name`;
  return { table, ...(column === undefined ? {} : { column }), wanted, reason, remedy };
}

/** The conflict without the actual part. An undeclared column is not even named. */
function withhold(
  { table, column, wanted, remedy }: FoundConflict,
  declared: TableDefinition,
): Conflict {
  if (column === undefined) return { table, wanted, remedy };
  if (declared.columns.some(({ name }) => name === column))
    return { table, column, wanted: "this column", remedy };
  return { table, wanted: "this table with only these columns", remedy };
}
