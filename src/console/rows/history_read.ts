/** Reads the history of a table or of a row, and makes the addresses of its pages. @module */

import { Problem } from "../../problem.ts";
import { type RowChange, readConsole } from "../../records/console/mod.ts";
import { HISTORY_PAGE, HISTORY_PAGE_BYTES } from "../../std/limits.ts";
import type { Visit } from "../enter.tsx";
import { findLastTogether } from "./history_plan.ts";
import type { RowsTable } from "./table.tsx";

export type History = Awaited<ReturnType<typeof readHistory>>;

type Asked = { row?: string; changes?: readonly number[]; isDeleted?: boolean; before?: number };

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

/** Pages of others' changes that are searched for a change of the visitor. */
const MAX_PAGES = 20;

/** The last changes that the visitor made together in the Console. */
export async function findLastOwn(visit: Visit, table: RowsTable): Promise<readonly RowChange[]> {
  let before: number | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { changes, me } = await readHistory(visit, table, before === undefined ? {} : { before });
    const isOwn = ({ by }: RowChange) => by?.kind === "console" && by.id === me.id;
    const first = changes.findIndex(isOwn);
    if (first !== -1) return findLastTogether(changes.slice(first).filter(isOwn));
    before = changes.at(-1)?.id;
    if (before === undefined) break;
  }
  return [];
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
  const query = new URLSearchParams(changes.map(({ id }) => ["change", `${id}`]));
  if (column !== undefined) query.set("column", column);
  if (isWhole === true) query.set("whole", "yes");
  if (isFromRows === true) query.set("from", "rows");
  return `${path}/restore?${query}`;
}

/** A change of the history, by the address. */
export function readChangeId(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
