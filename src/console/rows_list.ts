/** Rows from the data endpoints, each with its text and tag: pages, rows by id, and the number of rows. @module */
import { rowTag } from "../catalog/mod.ts";
import { isObject } from "../std/is_object.ts";
import { splitList, splitObject } from "../std/json_text.ts";
import { MAX_ROWS } from "../std/limits.ts";
import { mapBounded } from "../std/map_bounded.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import type { Visit } from "./enter.tsx";
import { callRows, type Row, readRow, toRejection } from "./rows_call.ts";
import type { Reference } from "./rows_position.ts";

export type ListedRow = { row: Row; text: string };
export type RowsPage = { rows: ListedRow[]; hasMore: boolean };

export type ListOptions = {
  appId: string;
  table: string;
  limit: number;
  offset: number;
  isExport?: boolean;
};

export async function listRows(visit: Visit, options: ListOptions): Promise<RowsPage> {
  const { appId, table, limit, offset, isExport = false } = options;
  const path = `${table}?limit=${limit}&offset=${offset}`;
  const { text } = await callRows(visit, { appId, path, isExport });
  const page = tryParseJson(text);
  const rows = splitList(splitObject(text).get("rows") ?? "[]").map((part) => ({
    row: readRow(part),
    text: part,
  }));
  return { rows, hasMore: isObject(page) && page["hasMore"] === true };
}

/** Max concurrent calls for single rows. */
const MAX_CALLS = 10;

/** The rows with these ids, in this order; omits ids without a row. */
export async function findRows(
  visit: Visit,
  { appId, table, ids }: { appId: string; table: string; ids: readonly string[] },
): Promise<ListedRow[]> {
  const found = await mapBounded(ids, MAX_CALLS, async (id) => {
    try {
      const { text } = await callRows(visit, { appId, path: `${table}/${id}` });
      return { row: readRow(text), text };
    } catch (error) {
      if (toRejection(error).code !== "not_found") throw error;
      return undefined;
    }
  });
  return found.filter((listed) => listed !== undefined);
}

/** Max rows to search for references. */
export const MAX_SEARCHED = 10_000;

/** The first rows whose column references a row. `hasMore` is also true if not all rows were searched. */
export async function findReferring(
  visit: Visit,
  { appId, table, limit }: Pick<ListOptions, "appId" | "table" | "limit">,
  { column, id }: Reference,
): Promise<RowsPage> {
  const found: ListedRow[] = [];
  let hasMore = true;
  for (let offset = 0; hasMore && offset < MAX_SEARCHED && found.length <= limit; ) {
    const page = await listRows(visit, { appId, table, limit: MAX_ROWS, offset });
    found.push(...page.rows.filter(({ row }) => row[column] === id));
    offset += page.rows.length;
    hasMore = page.hasMore;
  }
  return { rows: found.slice(0, limit), hasMore: hasMore || found.length > limit };
}

type CountOptions = { appId: string; table: string; min: number; max: number };

/**
 * The number of rows of a table that has at least `min`; `undefined` if it has more than `max`. If the list endpoint does not
 * count, reads single rows at doubled offsets, and then bisects.
 */
export async function countRows(visit: Visit, options: CountOptions): Promise<number | undefined> {
  const { appId, table, min, max } = options;
  const path = `${table}?limit=1`;
  const { text } = await callRows(visit, { appId, path, headers: { prefer: "count=bounded" } });
  const page = tryParseJson(text);
  if (isObject(page) && typeof page["count"] === "number") return page["count"];
  const isThere = async (offset: number) =>
    (await listRows(visit, { appId, table, limit: 1, offset })).rows.length > 0;
  let low = min;
  let high = Math.min(Math.max(min * 2, 1), max);
  while (await isThere(high)) {
    if (high === max) return undefined;
    low = high + 1;
    high = Math.min(high * 2, max);
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isThere(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The `If-Match` value for a row of a list. */
export function tagOf({ text }: ListedRow): string {
  return `"${rowTag(new TextEncoder().encode(text))}"`;
}
