/**
 * The conflicts of an app with a table of another app. The app learns which of its own declarations conflict and, for
 * earlier declarations, also why. It never learns types, values or defaults that it did not declare.
 *
 * @module
 */
import type { TableDefinition } from "../dsl/mod.ts";
import { type Clash, type Conflict, findConflicts } from "./compare.ts";
import type { TableState } from "./state.ts";

/** Every conflict of an app's declaration; `before` is its previous declaration of the table. */
export function findForeignConflicts(
  declared: TableDefinition,
  { definition, ownerSlug }: TableState,
  before: TableDefinition | undefined,
): Conflict[] {
  const remedy = `declare it as its owner "${ownerSlug}" does, ask "${ownerSlug}" to change it, or choose another table name`;
  const isTold = (name: string) => before?.columns.some((column) => column.name === name) === true;
  const isThere = (name: string) => definition.columns.some((column) => column.name === name);
  const conflicts = findConflicts(declared, definition, remedy).map((clash) => {
    if (clash.column !== undefined && !isThere(clash.column)) return lacking(clash, ownerSlug);
    return clash.column !== undefined && isTold(clash.column) ? clash : withhold(clash, declared);
  });
  return [...new Map(conflicts.map((conflict) => [JSON.stringify(conflict), conflict])).values()];
}

/** A column that only the app declares, not the owner. */
function lacking({ table, column, wanted }: Clash, ownerSlug: string): Conflict {
  const misfit = `the table's owner "${ownerSlug}" does not declare`;
  const remedy = `leave it out, ask "${ownerSlug}" to declare it, or choose another table name`;
  return { table, ...(column === undefined ? {} : { column }), wanted, misfit, remedy };
}

/** The conflict without the actual part. An undeclared column is not even named. */
function withhold({ table, column, wanted, remedy }: Clash, declared: TableDefinition): Conflict {
  if (column === undefined) return { table, wanted, remedy };
  if (declared.columns.some(({ name }) => name === column))
    return { table, column, wanted: "this column as declared", remedy };
  return { table, wanted: "this table with only the declared columns", remedy };
}
