/** The number of rows of the table: an estimate first, then the exact number. The rows are shown before. @module */
import { MAX_COUNTED } from "../../../std/limits.ts";
import type { Total } from "../../rows/grid.tsx";
import { type RowsPage, readPage, SearchError } from "../search/pages.ts";
import { toUrl } from "./store.ts";

/** Max total if the list endpoint does not count. */
const MAX_SHOWN = 50_000;

/** Calls `onFound` with each better number. `min` rows exist. */
export async function countRows(min: number, onFound: (total: Total) => void): Promise<void> {
  const page = await ask("estimated");
  if (page === undefined) return;
  const { count, isEstimate } = page;
  if (count === undefined) return onFound((await bisect(min)) ?? { over: MAX_SHOWN });
  if (count === null) return onFound({ over: MAX_COUNTED });
  onFound({ count, ...(isEstimate ? { isEstimate: true } : {}) });
  if (!isEstimate || count > MAX_COUNTED) return;
  const exact = (await ask("exact"))?.count;
  if (typeof exact === "number") onFound({ count: exact });
}

/** `undefined` without an answer: the page then shows no total. */
async function ask(preference: "exact" | "estimated"): Promise<RowsPage | undefined> {
  return await readPage(toUrl(), {
    query: "limit=1",
    headers: { prefer: `count=${preference}` },
  }).catch((error: unknown) => {
    if (error instanceof SearchError) return undefined;
    throw error;
  });
}

/** Reads single rows at doubled offsets, and then bisects. */
async function bisect(min: number): Promise<Total | undefined> {
  const isThere = async (offset: number) =>
    (await readPage(toUrl(), { query: `limit=1&offset=${offset}` })).rows.length > 0;
  let low = min;
  let high = Math.min(Math.max(min * 2, 1), MAX_SHOWN);
  while (await isThere(high)) {
    if (high === MAX_SHOWN) return undefined;
    low = high + 1;
    high = Math.min(high * 2, MAX_SHOWN);
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isThere(middle)) low = middle + 1;
    else high = middle;
  }
  return { count: low };
}
