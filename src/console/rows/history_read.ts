/** Reads the history of a table or of a row, and makes the addresses of its pages. @module */

import { Problem } from "../../problem.ts";
import { type RowChange, readConsole } from "../../records/console/mod.ts";
import { HISTORY_PAGE, HISTORY_PAGE_BYTES, MAX_ROWS } from "../../std/limits.ts";
import type { Visit } from "../enter.tsx";
import { canContinue, findLastTogether, isTogether } from "./history_plan.ts";
import type { RowsTable } from "./table.tsx";

export type History = Awaited<ReturnType<typeof readHistory>>;

type Asked = {
  row?: string;
  changes?: readonly number[];
  isDeleted?: boolean;
  before?: number | undefined;
};

/** @throws {Problem} unknown_route — the preview is off */
export async function readHistory(
  { deps }: Visit,
  { slug, table }: RowsTable,
  { row, changes, isDeleted = false, before }: Asked,
) {
  if (!deps.hasHistory) throw new Problem("unknown_route");
  return await readConsole(deps, "show_history", {
    app_slug: slug,
    wanted_table: table,
    of_row: row ?? null,
    wanted: changes ?? null,
    is_deleted: isDeleted,
    before_id: before ?? null,
    max_rows: HISTORY_PAGE,
    max_bytes: HISTORY_PAGE_BYTES,
  });
}

/** Pages that are read to complete a group of changes, or to find one of the visitor. */
const MAX_PAGES = 20;

/** Changes by their ids, from as many pages as they need. */
export async function readChanges(
  visit: Visit,
  table: RowsTable,
  ids: readonly number[],
): Promise<History> {
  const history = await readHistory(visit, table, { changes: ids });
  const changes = [...history.changes];
  for (let page = 1; page < MAX_PAGES && changes.length < ids.length; page++) {
    const before = changes.at(-1)?.id;
    if (before === undefined) break;
    const next = await readHistory(visit, table, { changes: ids, before });
    if (next.changes.length === 0) break;
    changes.push(...next.changes);
  }
  return { ...history, changes };
}

/** The changes of a page, and those below it that were made together with its last. */
export async function completeLast(
  visit: Visit,
  table: RowsTable,
  { changes, isDeleted }: { changes: readonly RowChange[]; isDeleted: boolean },
): Promise<readonly RowChange[]> {
  const all = [...changes];
  for (let page = 0; page < MAX_PAGES; page++) {
    const before = all.at(-1)?.id;
    if (before === undefined) break;
    const { changes: below } = await readHistory(visit, table, { isDeleted, before });
    for (const change of below) {
      const last = all.at(-1);
      if (last === undefined || !isTogether(last, change)) return all;
      all.push(change);
    }
    if (below.length === 0) break;
  }
  return all;
}

/** The last changes that the visitor made together in the Console. */
export async function findLastOwn(visit: Visit, table: RowsTable): Promise<readonly RowChange[]> {
  const own: RowChange[] = [];
  let before: number | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { changes, me } = await readHistory(visit, table, before === undefined ? {} : { before });
    own.push(...changes.filter(({ by }) => by?.kind === "console" && by.id === me.id));
    const last = changes.at(-1);
    if (last === undefined || !canContinue(own, last)) break;
    before = last.id;
  }
  return findLastTogether(own);
}

export function toHistoryPath(path: string): string {
  return `${path}/history`;
}

/** The rows that were deleted and can be restored. */
export function toDeletedPath(path: string): string {
  return `${toHistoryPath(path)}?deleted=yes`;
}

type Restoring = {
  changes: readonly RowChange[];
  column?: string;
  isWhole?: boolean;
  /** The list of rows is shown afterwards. */
  isFromRows?: boolean;
};

/** The preview of what restoring writes. */
export function toRestorePath(
  path: string,
  { changes, column, isWhole, isFromRows }: Restoring,
): string {
  const query = new URLSearchParams(toRuns(changes).map((run) => ["change", run]));
  if (column !== undefined) query.set("column", column);
  if (isWhole === true) query.set("whole", "yes");
  if (isFromRows === true) query.set("from", "rows");
  return `${path}/restore?${query}`;
}

/** The ids as few parts of an address, whose length is bounded: "7", or "7-9" for all between. */
function toRuns(changes: readonly RowChange[]): string[] {
  const runs: [first: number, last: number][] = [];
  for (const { id } of changes.toSorted((a, b) => a.id - b.id)) {
    const run = runs.at(-1);
    if (run !== undefined && run[1] === id - 1) run[1] = id;
    else runs.push([id, id]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
}

/** The ids of an address, as {@linkcode toRestorePath} writes them. */
export function readRuns(texts: readonly string[]): number[] {
  const ids = texts.flatMap((text) => {
    const [first, last = first, ...others] = text.split("-").map(readChangeId);
    if (first === undefined || last === undefined || others.length > 0) return [];
    const count = Math.max(0, Math.min(last - first + 1, MAX_ROWS));
    return Array.from({ length: count }, (_, n) => first + n);
  });
  return [...new Set(ids)].slice(0, MAX_ROWS);
}

/** A change of the history, by the address. */
export function readChangeId(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
