/** Finds one row by the columns of a unique constraint. An incomplete search throws instead of returning `undefined`. @module */
import { DataError } from "./data_error.ts";
import { isModel, type TableKinds } from "./matches.ts";
import type { AnyQuery, AnyRow, Page } from "./table_client.ts";

type UniqueLists = readonly (readonly string[])[];

type Target = {
  readonly table: string;
  readonly where: object;
  /** `undefined` if the client has no schema. */
  readonly source: TableKinds | undefined;
};

/**
 * The row with these values, or `undefined`.
 *
 * @throws {TypeError} for columns that are not unique, and for anything but a value
 * @throws {DataError} needs_index — the search did not reach the end of the table
 */
export async function findRow(
  list: (search: AnyQuery) => Promise<Page<AnyRow>>,
  target: Target,
): Promise<AnyRow | undefined> {
  checkTarget(target);
  const { rows, hasMore } = await list({ where: target.where, limit: 1 });
  // Not a service of this release, which reads all rows.
  if (rows[0] === undefined && hasMore)
    throw new DataError(`${target.table}.find: Cannot finish the search: use the id`, {
      ...{ status: 0, code: "needs_index" },
    });
  return rows[0];
}

function checkTarget({ table, where, source }: Target): void {
  const unique = source && listUnique(source);
  const names = Object.keys(where);
  const fail = (issue: string) => {
    throw new TypeError(`${table}.find: Cannot search ${issue}`);
  };
  if (names.length === 0) fail("without a condition: pass a unique column");
  if (unique?.some((columns) => isIdentity(names, columns, unique)) === false)
    fail(
      `by ${names.map((name) => `"${name}"`).join(", ")}: must be a unique column or all columns of a unique constraint: ${unique.map((columns) => columns.join(" with ")).join(", ")}`,
    );
  for (const [name, value] of Object.entries(where))
    if (!["string", "number", "boolean"].includes(typeof value))
      fail(`by "${name}": must be a value, not ${value === null ? "null" : typeof value}`);
}

/** Whether the names are those of the constraint, and perhaps of others over one column. */
function isIdentity(names: readonly string[], columns: readonly string[], unique: UniqueLists) {
  return (
    columns.every((name) => names.includes(name)) &&
    names.every(
      (name) =>
        columns.includes(name) ||
        unique.some(([only, more]) => only === name && more === undefined),
    )
  );
}

/** The columns of each unique constraint of the table. */
function listUnique(table: TableKinds): UniqueLists {
  const { columns, uniques = [] } = isModel(table) ? table.model : { columns: table };
  const flagged = Object.entries(columns).filter(([, { column }]) => column.unique === true);
  return [["id"], ...flagged.map(([name]) => [name]), ...uniques];
}
