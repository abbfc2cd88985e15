/** Reads the history of a table or of a row, and makes the addresses of its pages. @module */

import { Problem } from "../../problem.ts";
import { type RowChange, readConsole } from "../../records/console/mod.ts";
import { MAX_ROWS } from "../../std/limits.ts";
import type { Visit } from "../enter.tsx";
import { canContinue, groupChanges } from "./history_plan.ts";
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
  if (!deps.previews.includes("history")) throw new Problem("unknown_route");
  return await readConsole(deps, "show_history", {
    app_slug: slug,
    wanted_table: table,
    of_row: row ?? null,
    wanted: changes ?? null,
    is_deleted: isDeleted ? true : null,
    before_id: before ?? null,
    max_rows: changes === undefined ? PAGE_ROWS : MAX_ROWS,
    max_bytes: PAGE_BYTES,
  });
}

/** Max changes, and about max bytes, of a page of history. */
const PAGE_ROWS = 100;
const PAGE_BYTES = 2_097_152;

/** Pages that are read to complete groups of changes, or to find one of the visitor. */
const MAX_PAGES = 50;

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

/** What references deleted or changed with these deleted rows, by table. */
export async function readTaken(
  { deps }: Visit,
  { slug, table }: RowsTable,
  ids: readonly number[],
) {
  const values = { app_slug: slug, wanted_table: table, wanted: ids, max_rows: MAX_ROWS };
  const { taken } = await readConsole(deps, "show_taken", values);
  return taken.map((found) => ({ ...found, ids: found.ids.map((id) => ({ id })) }));
}

/** A change and all later ones of its row; `undefined` if they are too many. */
export async function readSince(
  visit: Visit,
  table: RowsTable,
  { id, rowId }: Pick<RowChange, "id" | "rowId">,
): Promise<readonly RowChange[] | undefined> {
  const since: RowChange[] = [];
  let before: number | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { changes } = await readHistory(visit, table, { row: rowId, before });
    since.push(...changes.filter((change) => change.id >= id));
    const last = changes.at(-1);
    if (last === undefined || last.id <= id) return since;
    before = last.id;
  }
  return undefined;
}

type Page = { isDeleted: boolean; before: number | undefined; above: number | undefined };

/**
 * The groups of changes that begin on a page, complete: requests that run at the same time record their rows in turn, so that groups
 * continue below it. `older`: the next page, and above it the first change of the groups that continue there.
 */
export async function readGroups(visit: Visit, table: RowsTable, page: Page) {
  const { isDeleted, before = Number.POSITIVE_INFINITY, above = page.before } = page;
  const read = (below: number | undefined) =>
    readHistory(visit, table, { isDeleted, before: below });
  const history = await read(above);
  const all: RowChange[] = [];
  let { changes } = history;
  let groups: (readonly RowChange[])[] = [];
  let border = before;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const last = changes.at(-1);
    if (last === undefined) break;
    all.push(...changes);
    groups = groupChanges(all);
    const begun = groups.filter((group) => toFirst(group) >= border);
    if (border < before && !begun.some((group) => canContinue(group, last))) break;
    if (border === before && last.id < before) border = last.id;
    ({ changes } = await read(last.id));
  }
  const ended = endPage({ history, groups }, border);
  const hasOlder = changes.length > 0 || ended.groups.length < groups.length;
  return {
    ...ended,
    /** The page ends before this change. */
    border: hasOlder ? border : 0,
    groups: ended.groups.filter((group) => toFirst(group) < before),
    older: hasOlder && ended.older,
  };
}

/** The page without the groups that begin below this change, where the next page continues. */
export function endPage(
  { history, groups }: { history: History; groups: readonly (readonly RowChange[])[] },
  border: number,
) {
  const begun = groups.filter((group) => toFirst(group) >= border);
  const continued = begun.filter((group) => group.some(({ id }) => id < border));
  const above = Math.max(border, ...continued.map((group) => toFirst(group) + 1));
  return { history, border, groups: begun, older: { before: border, above } };
}

/** Changes are listed from the newest to the oldest. */
function toFirst([first]: readonly RowChange[]): number {
  return first?.id ?? 0;
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
  return groupChanges(own)[0] ?? [];
}

export function toHistoryPath(path: string): string {
  return `${path}/history`;
}

/** The rows that were deleted and can be restored. */
export function toDeletedPath(path: string): string {
  return `${toHistoryPath(path)}?deleted=yes`;
}

type Restoring = {
  changes: readonly Pick<RowChange, "id">[];
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
  const query = new URLSearchParams({ change: toRuns(changes) });
  if (column !== undefined) query.set("column", column);
  if (isWhole === true) query.set("whole", "yes");
  if (isFromRows === true) query.set("from", "rows");
  return `${path}/restore?${query}`;
}

/**
 * The ids as the steps from one to the next, because the length of an address is bounded: "7.2.1-5" is 7, 9, and 10 to 15. Requests
 * that alternate have a step for each row.
 */
function toRuns(changes: readonly Pick<RowChange, "id">[]): string {
  let last = 0;
  const runs: { step: number; more: number }[] = [];
  for (const { id } of changes.toSorted((a, b) => a.id - b.id)) {
    const run = runs.at(-1);
    if (run !== undefined && id === last + 1) run.more++;
    else runs.push({ step: id - last, more: 0 });
    last = id;
  }
  return runs.map(({ step, more }) => (more === 0 ? `${step}` : `${step}-${more}`)).join(".");
}

/** The ids of an address, as {@linkcode toRestorePath} writes them. */
export function readRuns(text: string): number[] {
  const ids: number[] = [];
  let last = 0;
  for (const run of text.split(".")) {
    const [step, more = 0] = run.split("-").map(readChangeId);
    if (step === undefined) return [];
    const count = Math.min(more + 1, MAX_ROWS - ids.length);
    ids.push(...Array.from({ length: count }, (_, n) => last + step + n));
    last += step + more;
  }
  return ids;
}

/** A change of the history, by the address. */
export function readChangeId(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
