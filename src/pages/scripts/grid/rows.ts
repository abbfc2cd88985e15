/** The rows on the page. The next rows replace them, so the page never grows. @module */

import { announce, requestPage } from "../dom.ts";
import { showTimes } from "../times.ts";
import { addResizers, arrangeColumns } from "./columns.ts";
import { markSelected } from "./selection.ts";
import { addSortButtons } from "./sort.ts";

// The cells of a grid: one cell is a tab stop, by the input of the grid in it, and the arrow keys
// move the focus to others. @see https://www.w3.org/WAI/ARIA/apg/patterns/grid/

export type Position = { row: number; column: number };

/** Rows per Page Up and Page Down. */
const PAGE_ROWS = 10;
const LAST = Number.MAX_SAFE_INTEGER;

/** The target of each key. `findCell()` clamps a target outside the grid. */
const MOVES: Readonly<Record<string, (from: Position) => Position>> = {
  ArrowUp: ({ row, column }) => ({ row: row - 1, column }),
  ArrowDown: ({ row, column }) => ({ row: row + 1, column }),
  ArrowLeft: ({ row, column }) => ({ row, column: column - 1 }),
  ArrowRight: ({ row, column }) => ({ row, column: column + 1 }),
  Home: ({ row }) => ({ row, column: 0 }),
  End: ({ row }) => ({ row, column: LAST }),
  PageUp: ({ row, column }) => ({ row: row - PAGE_ROWS, column }),
  PageDown: ({ row, column }) => ({ row: row + PAGE_ROWS, column }),
  "Control+Home": () => ({ row: 0, column: 0 }),
  "Control+End": () => ({ row: LAST, column: LAST }),
  "Control+ArrowUp": ({ column }) => ({ row: 0, column }),
  "Control+ArrowDown": ({ column }) => ({ row: LAST, column }),
  "Control+ArrowLeft": ({ row }) => ({ row, column: 0 }),
  "Control+ArrowRight": ({ row }) => ({ row, column: LAST }),
};

/** A key with its modifiers, such as `Control+Home`. Command counts as Control. */
export function toChord({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): string {
  const held = [
    (ctrlKey || metaKey) && "Control",
    altKey && "Alt",
    shiftKey && key.length > 1 && "Shift",
  ].filter((part) => part !== false);
  return [...held, key].join("+");
}

/** Turns a table into a grid. The roles are explicit: browsers drop those of a table that CSS displays in another way. */
function markGrid(table: HTMLTableElement): void {
  table.setAttribute("role", "grid");
  for (const section of [...table.tBodies, table.tHead]) section?.setAttribute("role", "rowgroup");
  for (const row of table.rows) {
    row.setAttribute("role", "row");
    for (const cell of row.cells) markCell(cell);
  }
}

function markCell(cell: HTMLTableCellElement): void {
  const isHead = cell.tagName === "TH";
  cell.setAttribute("role", isHead ? "columnheader" : "gridcell");
  if (isHead) return;
  cell.tabIndex = -1;
  // Keys of the cell open its link, so the link is no tab stop.
  for (const link of cell.querySelectorAll<HTMLElement>("a, button, summary, .select"))
    link.tabIndex = -1;
}

export function readPosition(cell: HTMLTableCellElement): Position {
  const row = cell.parentElement as HTMLTableRowElement;
  return { row: row.sectionRowIndex, column: cell.cellIndex };
}

/** The cell at a position, or the nearest cell at the edge. */
export function findCell(
  table: HTMLTableElement,
  { row, column }: Position,
): HTMLTableCellElement | undefined {
  const rows = table.tBodies[0]?.rows;
  if (rows === undefined || rows.length === 0) return undefined;
  const cells = rows[Math.max(0, Math.min(row, rows.length - 1))]?.cells;
  return cells?.[Math.max(0, Math.min(column, cells.length - 1))];
}

/** The target of a key; `undefined` if the key does not move the focus. */
export function findMove(chord: string, from: Position): Position | undefined {
  return MOVES[chord]?.(from);
}

export function focusCell(table: HTMLTableElement, position: Position): void {
  // The focus moves on to the input of the grid.
  findCell(table, position)?.focus();
}

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
