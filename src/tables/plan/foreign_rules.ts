/**
 * The conflicts of an app with a table of another app. The app learns which of its own declarations conflict and, for
 * earlier declarations, also why. It never learns types, values or defaults that it did not declare.
 *
 * @module
 */
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { type Conflict, FOREIGN } from "../conflicts.ts";
import type { TableState } from "../state.ts";
import { type Difference, findDifferences, showValues } from "./compare.ts";

/** Every conflict of an app's declaration; `before` is its previous declaration of the table. */
export function findForeignConflicts(
  declared: TableDefinition,
  found: TableState,
  before: TableDefinition | undefined,
): Conflict[] {
  const { definition, ownerSlug } = found;
  const isReported = (name: string) =>
    before?.columns.some((column) => column.name === name) === true;
  const isThere = (name: string) => definition.columns.some((column) => column.name === name);
  const conflicts = findDifferences(declared, definition).map((difference) => {
    const { table, column, wanted } = difference;
    if (column !== undefined && !isThere(column))
      return { table, column, ...FOREIGN.undeclared(ownerSlug, wanted) };
    if (column !== undefined && isReported(column))
      return { table, column, ...FOREIGN.different(ownerSlug, difference) };
    return withhold(ownerSlug, difference, declared);
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
  const at = { table: definition.name, column: column.name };
  return [{ ...at, ...FOREIGN.fewerValues(ownerSlug, showValues(column)) }];
}

/** The conflict without the actual part. An undeclared column is not even named. */
function withhold(
  owner: string,
  { table, column, wanted }: Difference,
  declared: TableDefinition,
): Conflict {
  if (column === undefined) return { table, ...FOREIGN.hidden(owner, wanted) };
  if (declared.columns.some(({ name }) => name === column))
    return { table, column, ...FOREIGN.hidden(owner, "this column") };
  return { table, ...FOREIGN.hidden(owner, "this table with only these columns") };
}
