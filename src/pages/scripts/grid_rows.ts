/** The rows on the page. The next rows replace them, so the page never grows. @module */
import { announce } from "./announce.ts";
import { findCell, focusCell, markGrid, type Position, readPosition } from "./grid_cells.ts";
import { addResizers, arrangeColumns } from "./grid_columns.ts";
import { markSelected } from "./grid_selection.ts";
import { addSortButtons } from "./grid_sort.ts";
import { requestPage } from "./request_page.ts";
import { showTimes } from "./times.ts";

const ROWS = "[data-rows]";

export function findGrid(): HTMLTableElement | null {
  return document.querySelector(`${ROWS} table[data-grid]`);
}

/** Shows the rows of an address; moves the focus to the cell at `focus`, if it is set. */
export async function openRows(url: string, options: { focus?: Position; isBack?: boolean } = {}) {
  const { page, url: displayed } = await requestPage(url);
  if (!showRows(page)) return location.assign(url);
  if (options.isBack !== true) history.pushState(null, "", displayed);
  const grid = findGrid();
  if (options.focus !== undefined && grid !== null) focusCell(grid, options.focus);
  announce(document.querySelector(`${ROWS} [data-range]`)?.textContent ?? "Other rows are shown");
}

/** Replaces the rows with the rows of a page. Returns whether the page has rows. */
export function showRows(page: Document): boolean {
  const [present, next] = [document.querySelector(ROWS), page.querySelector(ROWS)];
  if (present === null || next === null) return false;
  arrangeColumns(next);
  present.replaceWith(document.adoptNode(next));
  startRows();
  return true;
}

const listeners: ((grid: HTMLTableElement, current: Position) => void)[] = [];

/** Calls the listener whenever rows were replaced, with the position of the selected cell. */
export function onRowsChanged(listener: (typeof listeners)[number]): void {
  listeners.push(listener);
}

export function startRows(): void {
  const grid = findGrid();
  if (grid === null) return;
  const stored = findCurrent(grid);
  markSelected(grid);
  addSortButtons(grid);
  addResizers(grid);
  markGrid(grid);
  for (const listener of listeners) listener(grid, stored);
  // The frame scrolls with the focused cell, so it is no tab stop.
  grid.parentElement?.removeAttribute("tabindex");
  showTimes(grid);
}

function toSelector(id: string): string {
  return `${ROWS} tr[data-row-id="${CSS.escape(id)}"]`;
}

export function findRow(id: string): HTMLTableRowElement | null {
  return document.querySelector(toSelector(id));
}

/** Replaces a row with its current version, from `fetched` or from the server. Keeps the focus. */
export async function renewRow(id: string, fetched?: Document): Promise<void> {
  const selector = toSelector(id);
  const grid = findGrid();
  const page =
    fetched?.querySelector(selector) === null || fetched === undefined
      ? (await requestPage(toRowsUrl([id]))).page
      : fetched;
  arrangeColumns(page);
  const fresh = page.querySelector<HTMLTableRowElement>(selector);
  const present = findRow(id);
  if (present === null || grid === null) return;
  const position = findCurrent(grid);
  const hadFocus = present.contains(document.activeElement);
  if (fresh !== null && fetched !== undefined) keepTags(fresh, present);
  if (fresh === null) present.remove();
  else replaceRow(present, document.adoptNode(fresh));
  startRows();
  if (hadFocus && !grid.contains(document.activeElement)) focusCell(grid, position);
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

/** In a live app, records the tags of versions that this page stored: events with these tags are not from another user. */
function keepTags(fresh: HTMLTableRowElement, { dataset }: HTMLTableRowElement): void {
  if (document.querySelector(`${ROWS}[data-changes]`) === null) return;
  fresh.dataset["stored"] = `${dataset["stored"] ?? ""} ${fresh.dataset["etag"]}`.trim();
}

/** The address of a page with only these rows. */
export function toRowsUrl(ids: readonly string[]): string {
  const query = new URLSearchParams([...ids.map((id) => ["row", id])]);
  for (const [name, value] of new URLSearchParams(location.search))
    if (name.startsWith("show.")) query.append(name, value);
  return `${location.pathname}?${query}`;
}

/** Reloads the rows, and moves the focus to the cell at `focus`, if it is set. */
export async function renewRows(focus?: Position): Promise<void> {
  const { page } = await requestPage(location.href);
  if (!showRows(page)) return location.reload();
  const grid = findGrid();
  if (grid !== null && focus !== undefined) focusCell(grid, focus);
}

export function findPager(rel: "next" | "prev"): HTMLAnchorElement | null {
  return document.querySelector(`${ROWS} a[rel=${rel}]`);
}

/** The cell that has the focus, or had it last. */
export function findCurrent(grid: HTMLTableElement): Position {
  const cell =
    grid.querySelector<HTMLTableCellElement>("td[data-current]") ??
    findCell(grid, { row: 0, column: 0 });
  return cell === undefined ? { row: 0, column: 0 } : readPosition(cell);
}
