/** The rows on the page: reads them from the data endpoints and shows them. The next rows replace them, so the page never grows. @module */
import {
  DEFAULT_LIMIT,
  describeRange,
  NO_ROWS,
  NONE_HERE,
  type Place,
  readPlace,
  renderGrid,
  renderRowsPage,
  type Total,
  toRowCount,
  withPlace,
} from "../../rows/grid.tsx";
import type { ListedRow } from "../../rows/row.ts";
import { callPatiently } from "../data.ts";
import { announce, element, SMALL_BUTTON } from "../dom.ts";
import { toNode } from "../dom_jsx.ts";
import { countRequests } from "../pending.ts";
import { showFailure } from "../save_state.ts";
import { readQuery } from "../search/pages.ts";
import { withOpened } from "../search/state.ts";
import { showTimes } from "../times.ts";
import {
  countGridRows,
  findCurrent,
  findGrid,
  findRow,
  focusCell,
  markGrid,
  type Position,
  ROWS,
} from "./cells.ts";
import { addResizers, arrangeColumns } from "./columns.ts";
import { markSelected } from "./selection.ts";
import { addSortButtons } from "./sort.ts";
import {
  fetchRow,
  keep,
  keepOnly,
  labels,
  readLabels,
  readRows,
  readTable,
  tagOf,
  toListed,
  toRows,
  toUrl,
} from "./store.ts";

type RowsShown = {
  readonly rows: readonly ListedRow[];
  readonly hasMore: boolean;
};

export function currentPlace(): Place {
  return readPlace(new Map(new URLSearchParams(location.search)));
}

/** The size of a page. */
export function currentLimit(): number {
  return currentPlace().limit || DEFAULT_LIMIT;
}

/** The rows of a place. Explains a failure, and returns `undefined`. */
async function readPage({ limit, offset }: Place): Promise<RowsShown | undefined> {
  const answer = await callPatiently(`${toUrl()}?limit=${limit}&offset=${offset}`);
  if (answer.kind !== "done") {
    showFailure(`Not loaded: ${answer.kind === "lost" ? answer.reason : answer.message}`);
    return undefined;
  }
  const { hasMore } = JSON.parse(answer.text) as { hasMore: boolean };
  return { rows: toRows(answer.text), hasMore };
}

/** The address of the rows that are shown, or are being read. */
let shownAt = withOpened(location.href, undefined);

export function setShownAt(url: string): void {
  shownAt = withOpened(url, undefined);
}

export function isShownAt(url: string): boolean {
  return shownAt === withOpened(url, undefined);
}

/**
 * The rows below the last one on the page, max `max`; fewer if the table ends. The rows before it may have been deleted since.
 *
 * @throws {SearchError} a request failed
 */
export async function readNextRows(max: number): Promise<ListedRow[]> {
  const id = [...(findGrid()?.tBodies[0]?.rows ?? [])].at(-1)?.dataset["rowId"];
  if (findPager("next") === null || id === undefined) return [];
  const pages = await readQuery(toUrl(), { parameters: [["id", `gt.${id}`]], max });
  return pages.flatMap((page) => page.texts().map(toListed));
}

let total: Total | undefined;
/** Resolves with the texts of the rows that the server rendered. */
let first: Promise<void> | undefined;

export function showTotal(found: Total | undefined): void {
  total = found;
  const range = document.querySelector<HTMLElement>(`${ROWS} [data-range]`);
  const place = currentPlace();
  const grid = findGrid();
  if (range === null || grid === null || range.dataset["range"] === "found") return;
  range.textContent = describeRange(place, countGridRows(grid), total);
  if (found !== undefined && "count" in found && found.isEstimate === undefined)
    grid.setAttribute("aria-rowcount", String(toRowCount(found.count)));
}

/** A link to the last page, as soon as it is known. */
export function addLast(known: Total): void {
  const next = document.querySelector(`${ROWS} .pager-links a[rel=next]`);
  document.querySelector(`${ROWS} [data-last]`)?.remove();
  if (next === null || !("count" in known) || known.isEstimate === true) return;
  const { limit } = currentPlace();
  const last = Math.max(known.count - 1, 0);
  const href = withPlace(location.pathname, { limit, offset: last - (last % limit) });
  const link = element("a", { class: SMALL_BUTTON, href, "data-last": "" }, "Last");
  next.after(" ", link);
}

/** Shows the rows of an address; moves the focus to the cell at `focus`, if it is set. */
export async function openRows(url: string, options: { focus?: Position; isBack?: boolean } = {}) {
  const place = readPlace(new Map(new URL(url, location.href).searchParams));
  const page = await readPage(place);
  if (page === undefined) return;
  if (options.isBack !== true) history.pushState(null, "", withPlace(location.pathname, place));
  setShownAt(location.href);
  await showPage(page, place);
  const grid = findGrid();
  if (options.focus !== undefined && grid !== null) focusCell(grid, options.focus);
  announce(document.querySelector(`${ROWS} [data-range]`)?.textContent ?? "Other rows are shown");
}

async function showPage(page: RowsShown, place: Place): Promise<void> {
  keepOnly(page.rows);
  await readLabels(page.rows);
  const parts = renderRowsPage(readTable(), { ...page, place, labels, total });
  replaceRows(toNodes(parts));
  if (total !== undefined) addLast(total);
  if (page.rows.length === 0) showNone(place.offset > 0 ? NONE_HERE : NO_ROWS);
}

/** Shows rows that a search found, without a place in the table. */
export async function showFoundRows(rows: readonly ListedRow[], offset: number): Promise<void> {
  keepOnly(rows);
  await readLabels(rows);
  const place = { limit: currentLimit(), offset };
  replaceRows([toNode(renderGrid(readTable(), { rows, place, labels, total: undefined }))]);
}

export function showNone(text: string): void {
  const line = element("p", {}, text);
  document.querySelector(ROWS)?.append(element("div", { class: "blank" }, line));
}

function toNodes(parts: ReturnType<typeof renderRowsPage>): Node[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part) => (typeof part === "object" && part !== null ? [toNode(part)] : []));
}

function replaceRows(nodes: readonly Node[]): void {
  const rows = document.querySelector<HTMLElement>(ROWS);
  if (rows === null) return;
  const old = findGrid();
  const current = old === null ? undefined : findCurrent(old);
  const wasNew = old?.tFoot != null && current?.row === countGridRows(old);
  const hadFocus = document.activeElement?.matches(`${ROWS} .grid-input`) === true;
  const fresh = element("div", {}, ...nodes);
  arrangeColumns(fresh);
  markRequested(fresh);
  delete rows.dataset["stale"];
  rows.replaceChildren(...fresh.childNodes);
  const grid = findGrid();
  // The row that adds others is below those that were added.
  const place = wasNew && current ? { ...current, row: countGridRows(grid) } : current;
  startRows(place);
  // The user may be typing: the input moves on to the same place.
  if (hadFocus && grid !== null && place !== undefined) focusCell(grid, place);
}

/** A live event from before the request is not newer than the row. */
function markRequested(root: ParentNode): void {
  for (const row of root.querySelectorAll<HTMLElement>("tr[data-row-id]"))
    row.dataset["requested"] = String(countRequests());
}

const listeners: ((grid: HTMLTableElement, current: Position) => void)[] = [];

/** Calls the listener whenever rows were replaced, with the position of the selected cell. */
export function onRowsChanged(listener: (typeof listeners)[number]): void {
  listeners.push(listener);
}

/** `current` is the place of the selected cell before the rows were replaced. */
export function startRows(before?: Position): void {
  const grid = findGrid();
  if (grid === null) return;
  const current = before ?? findCurrent(grid);
  markSelected(grid);
  addSortButtons(grid);
  addResizers(grid);
  markGrid(grid);
  for (const listener of listeners) listener(grid, current);
  // The frame scrolls with the focused cell, so it is no tab stop.
  grid.parentElement?.removeAttribute("tabindex");
  showTimes(grid);
}

/** Reads the rows that the server rendered, for edits and copies, and shows those that changed since. */
export function readFirst(): void {
  first = readPage(currentPlace()).then(async (page) => {
    if (page === undefined || withOpened(location.href, undefined).includes("#")) return;
    keep(page.rows);
    await readLabels(page.rows);
    for (const listed of page.rows) {
      const etag = findRow(listed.row.id)?.dataset["etag"];
      if (etag !== undefined && etag !== (await tagOf(listed))) showRow(listed);
    }
  });
}

/** The row as this page knows it, also if the rows that the server rendered are still being read. */
export async function readKnown(id: string): Promise<ListedRow | undefined> {
  await first;
  return (await readRows([id]))[0];
}

/** Shows a row that was read or written. Keeps the focus. */
export function showRow(listed: ListedRow): void {
  const present = findRow(listed.row.id);
  const grid = findGrid();
  if (present === null || grid === null) return;
  const page = { rows: [listed], place: currentPlace(), labels, total: undefined };
  const holder = element("div", {});
  holder.append(toNode(renderGrid(readTable(), page)));
  arrangeColumns(holder);
  const fresh = holder.querySelector<HTMLTableRowElement>("tbody tr");
  if (fresh === null) return;
  fresh.ariaRowIndex = present.ariaRowIndex;
  const position = findCurrent(grid);
  const hadFocus = present.contains(document.activeElement);
  fresh.dataset["requested"] = String(countRequests());
  replaceRow(present, fresh);
  startRows();
  if (hadFocus && !grid.contains(document.activeElement)) focusCell(grid, position);
}

/** Shows the current version of a row, or removes it. Keeps the focus. */
export async function renewRow(id: string): Promise<void> {
  const found = await fetchRow(id);
  if (found === undefined) return removeRow(id);
  if ("kind" in found) return;
  await readLabels([found]);
  showRow(found);
}

function removeRow(id: string): void {
  findRow(id)?.remove();
  startRows();
}

/** Replaces the cells of a row. Keeps an editor and the input of the grid, in which the user may be typing. */
function replaceRow(present: HTMLTableRowElement, fresh: HTMLTableRowElement): void {
  const cells = [...fresh.cells];
  for (const { name } of [...present.attributes]) present.removeAttribute(name);
  for (const { name, value } of [...fresh.attributes]) present.setAttribute(name, value);
  for (const [index, cell] of [...present.cells].entries()) {
    const next = cells[index];
    if (next === undefined || cell.querySelector("form") !== null) continue;
    const input = cell.querySelector(".grid-input");
    if (input === null) {
      cell.replaceWith(next);
      continue;
    }
    for (const child of [...cell.childNodes]) if (child !== input) child.remove();
    cell.prepend(...next.childNodes);
    cell.className = next.className;
    delete cell.dataset["saving"];
  }
}

/** Reads the rows again, and moves the focus to the cell at `focus`, if it is set. */
export async function renewRows(focus?: Position): Promise<void> {
  const place = currentPlace();
  const page = await readPage(place);
  if (page === undefined) return;
  await showPage(page, place);
  const grid = findGrid();
  if (grid !== null && focus !== undefined) focusCell(grid, focus);
}

export function findPager(rel: "next" | "prev"): HTMLAnchorElement | null {
  return document.querySelector(`${ROWS} a[rel=${rel}]`);
}
