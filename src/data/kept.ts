/** What a session of PostgreSQL keeps of a table's functions. @module */
import type { Touched } from "../db/mod.ts";
import { ALL_ENDPOINTS, type ColumnSet, type Endpoint, isShared } from "../tables/catalog/mod.ts";

/** Functions whose plans do not grow with the columns. */
const SMALL: ReadonlySet<Endpoint> = new Set<Endpoint>(["get", "delete"]);
const SMALL_BYTES = 90_000;
const OTHER_BYTES = 170_000;
const COLUMN_BYTES = 7_000;

/** Functions of all tables that write a single row by the table's own function, which has plans. */
const OF_ONE_ROW: ReadonlySet<Endpoint> = new Set<Endpoint>([
  "update_many",
  "update_found",
  "upsert",
]);

export type Kept = Readonly<Record<Endpoint, readonly Touched[]>>;

/**
 * An estimate for each function, as measured with 8 and 40 columns: `bun run bench tables` measures whole sessions. A function of all tables
 * keeps no plan of its own, but a session that calls it for a table knows the table.
 */
export function estimateKept(
  { name: table, columns }: ColumnSet,
  texts: Readonly<Record<Endpoint, string>>,
): Kept {
  const toBytes = (endpoint: Endpoint): number => {
    if (SMALL.has(endpoint)) return SMALL_BYTES;
    return OTHER_BYTES + columns.length * COLUMN_BYTES;
  };
  const toOwn = (endpoint: Endpoint) => {
    return { table, code: texts[endpoint], bytes: toBytes(endpoint) };
  };
  const kept = ALL_ENDPOINTS.map((endpoint) => {
    if (!isShared(endpoint)) return [endpoint, [toOwn(endpoint)]];
    const own = OF_ONE_ROW.has(endpoint) ? [toOwn("update")] : [];
    return [endpoint, [{ table, code: table, bytes: 0 }, ...own]];
  });
  return Object.fromEntries(kept) as Kept;
}
