/** Finds one row by the columns of a unique constraint, page by page. An incomplete search throws instead of returning `undefined`. @module */
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

/** Max calls of a search. Each call visits up to 10,000 rows. */
const MAX_CALLS = 20;

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
  let page = await list({ where: target.where, limit: 1 }).catch(ignoreNeededIndex);
  // The service rejects a lookup of unique values by reading the table, but not a search for values.
  const where = Object.fromEntries(
    Object.entries(target.where).map(([name, value]) => [name, { in: [value] }]),
  );
  for (let calls = 1; ; calls++) {
    if (page?.rows[0] !== undefined || page?.hasMore === false) return page.rows[0];
    const isLost = page !== undefined && typeof page.next !== "string";
    if (isLost || calls === MAX_CALLS) break;
    page = await list({ where, limit: 1, after: page?.next ?? undefined });
  }
  throw new DataError(
    `${target.table}.find: Cannot finish the search, because the index of ${Object.keys(target.where).join(", ")} is not built: use the id; rowhouse doctor says what is left to build`,
    { status: 0, code: "needs_index" },
  );
}

function ignoreNeededIndex(error: unknown): undefined {
  if (error instanceof DataError && error.code === "needs_index") return undefined;
  throw error;
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
