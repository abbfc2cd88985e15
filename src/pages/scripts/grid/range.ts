/**
 * A range of cells: selected with Shift and arrow keys, Shift and a click, or by dragging. Copied as a spreadsheet copies it, pasted
 * and filled down through the preview of changes.
 *
 * @module
 */

import type { NamedColumn } from "../../../schema/mod.ts";
import { readTsv, toTsv } from "../../../std/tsv.ts";
import { type ListedRow, textOf } from "../../rows/row.ts";
import { announce } from "../dom.ts";
import { showFailure, showSaved } from "../save_state.ts";
import {
  columnOf,
  findCell,
  findGrid,
  findMove,
  type Position,
  readPosition,
  rowIdOf,
} from "./cells.ts";
import { showChanges } from "./changes.ts";
import { countOf, openDrawer } from "./drawer.ts";
import { input } from "./editor.ts";
import { onRowsChanged, readKnown } from "./rows.ts";
import { findStored, readLabels } from "./store.ts";
import {
  describeSize,
  findColumn,
  isSameKind,
  readIds,
  toShown,
  toValue,
  type Value,
} from "./values.ts";
import type { Change } from "./write.ts";

type Range = { readonly from: Position; readonly to: Position };

let range: Range | undefined;
let isDragging = false;
/** The last copied range, whose values are pasted exactly. */
let copied: { readonly text: string; readonly json: readonly (readonly string[])[] } | undefined;

const SELECTED = "td[aria-selected=true]";

export function startRange(renew: () => void): void {
  onRowsChanged((grid) => {
    grid.setAttribute("aria-multiselectable", "true");
    mark();
  });
  document.addEventListener("pointerdown", (event) => {
    const cell = findCellOf(event.target);
    if (event.button !== 0 || event.pointerType !== "mouse") return;
    const current = input.cell();
    if (cell !== null && event.shiftKey && current !== undefined) {
      event.preventDefault();
      extendTo(readPosition(cell));
    } else if (cell !== null || !isInDialog(event.target)) {
      clear();
      isDragging = cell !== null && cell.querySelector("form") === null;
      if (cell !== null) dragStart = readPosition(cell);
    }
  });
  document.addEventListener("pointermove", (event) => {
    const cell = findCellOf(event.target);
    if (!isDragging || event.buttons !== 1 || cell === null || dragStart === undefined) return;
    const to = readPosition(cell);
    if (range === undefined && to.row === dragStart.row && to.column === dragStart.column) return;
    getSelection()?.removeAllRanges();
    const grid = findGrid();
    const start = grid && findCell(grid, dragStart);
    if (start && input.cell() !== start) start.focus();
    range = { from: dragStart, to };
    mark();
  });
  document.addEventListener("pointerup", () => {
    if (isDragging && range !== undefined) announce(describe());
    isDragging = false;
  });
  document.addEventListener("focusin", ({ target }) => {
    if (isDragging || range === undefined || !(target instanceof HTMLTableCellElement)) return;
    const { row, column } = readPosition(target);
    if (row !== range.from.row || column !== range.from.column) clear();
  });
  document.addEventListener("copy", (event) => void copy(event));
  document.addEventListener("cut", (event) => {
    if (isFree(event.target)) event.preventDefault();
  });
  document.addEventListener("paste", (event) => {
    const lines = isFree(event.target) ? readPasted(event.clipboardData) : undefined;
    if (lines === undefined) return;
    event.preventDefault();
    void paste(lines, renew);
  });
}

let dragStart: Position | undefined;

function findCellOf(target: EventTarget | null): HTMLTableCellElement | null {
  if (!(target instanceof Element) || target.closest("form, a, button, input") !== null)
    return null;
  return target.closest<HTMLTableCellElement>("[data-grid] tbody td");
}

function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("dialog, .save-state") !== null;
}

/** Whether an event is for the selected cells, and not for a text. */
function isFree(target: EventTarget | null): boolean {
  return input.is(target) && !input.isTyping();
}

/** Handles the keys of a range. Returns whether the key was handled. */
export function handleRangeKey(
  chord: string,
  cell: HTMLTableCellElement,
  renew: () => void,
): boolean {
  const moved = chord.includes("Shift+")
    ? findMove(chord.replace("Shift+", ""), range?.to ?? readPosition(cell))
    : undefined;
  if (moved !== undefined) {
    extendTo(moved);
    return true;
  }
  if (chord === "Control+d") {
    void fillDown(cell, renew);
    return true;
  }
  if (chord === "Control+Backspace" && range !== undefined) {
    void change("Set to null in", renew, () => ({ json: "null" }));
    return true;
  }
  if (chord === "Escape" && range !== undefined) {
    clear();
    return true;
  }
  if (!/^(Control|Shift|Alt|Meta)/.test(chord)) clear();
  return false;
}

function extendTo(asked: Position): void {
  const grid = findGrid();
  const start = input.cell();
  const cell = grid && findCell(grid, asked);
  if (!cell || start === undefined) return;
  range = { from: range?.from ?? readPosition(start), to: readPosition(cell) };
  mark();
  cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  announce(describe());
}

export function clear(): void {
  range = undefined;
  mark();
}

function mark(): void {
  for (const cell of document.querySelectorAll(SELECTED)) cell.removeAttribute("aria-selected");
  if (range !== undefined)
    for (const line of listCells(range)) for (const cell of line) cell.ariaSelected = "true";
}

function listCells({ from, to }: Range): HTMLTableCellElement[][] {
  const rows = [...(findGrid()?.tBodies[0]?.rows ?? [])];
  const [top, bottom] = [Math.min(from.row, to.row), Math.max(from.row, to.row)];
  const [left, right] = [Math.min(from.column, to.column), Math.max(from.column, to.column)];
  return rows.slice(top, bottom + 1).map((row) => [...row.cells].slice(left, right + 1));
}

function describe(): string {
  const lines = range === undefined ? [] : listCells(range);
  return `${countOf(lines.length)}, ${countOf(lines[0]?.length ?? 0, "column")} selected`;
}

/** The selected cells with a value, or the current cell. */
function listSelected(): HTMLTableCellElement[][] {
  const current = input.cell();
  const cells = range === undefined ? (current === undefined ? [] : [[current]]) : listCells(range);
  return cells.map((line) => line.filter((cell) => columnOf(cell) !== undefined));
}

/** The clipboard takes the text at once, so only rows that this page has read are copied. */
function copy(event: ClipboardEvent): void {
  if (!isFree(event.target) || event.clipboardData === null) return;
  const lines = listSelected().filter((line) => line.length > 0);
  if (lines.length === 0) return;
  const rows = lines.map((line) => ({ line, row: line[0] && findStored(rowIdOf(line[0])) }));
  const isRead = rows.every(({ row }) => row !== undefined);
  if (!isRead) return void showFailure("Not copied: the rows are still being read.");
  const json = rows.map(({ line, row }) =>
    line.map((cell) => (row ? textOf(row.row, columnOf(cell) ?? "") : "null")),
  );
  const text = toTsv(
    rows.map(({ line, row }) => line.map((cell) => (row ? toShown(cell, row) : ""))),
  );
  copied = { text, json };
  event.preventDefault();
  event.clipboardData.setData("text/plain", text);
  showSaved(`Copied ${describeSize(lines.length, lines[0]?.length ?? 0)}`);
}

/** The lines of a pasted table; `undefined` for a text, which belongs into one cell. */
function readPasted(data: DataTransfer | null): string[][] | undefined {
  const text = data?.getData("text/plain") ?? "";
  if (text === "") return undefined;
  const isTable = text.includes("\t") || /<table\b/i.test(data?.getData("text/html") ?? "");
  const isOwn = text === copied?.text && copied.json.length > 1;
  return isTable || isOwn || range !== undefined ? readTsv(text) : undefined;
}

type Source = (row: ListedRow, column: NamedColumn, place: Position) => Value | Promise<Value>;

const NOT_LOADED = {
  issue: "Cannot read pasted values: check the connection, and reload the page",
};

/** The scripts of a page have the same digest. */
async function loadReader() {
  const address = import.meta.url.replace(/\/\w+\.(?=[0-9a-f]+\.js$)/, "/paste.");
  try {
    const { makePasteReader }: typeof import("../paste.ts") = await import(address);
    return makePasteReader();
  } catch {
    return undefined;
  }
}

async function paste(lines: readonly (readonly string[])[], renew: () => void): Promise<void> {
  const text = toTsv(lines);
  const exact =
    copied !== undefined && text === toTsv(readTsv(copied.text)) ? copied.json : undefined;
  const [height, width] = [lines.length, Math.max(...lines.map(({ length }) => length))];
  const start = listSelected()[0]?.[0] ?? input.cell();
  if (start === undefined) return;
  const from = readPosition(start);
  // One value fills the range.
  const isFilled = height * width === 1 && range !== undefined;
  if (!isFilled)
    range = { from, to: { row: from.row + height - 1, column: from.column + width - 1 } };
  const rowsLeft = height - listSelected().length;
  mark();
  const loading = loadReader();
  const find = <Part>(of: readonly (readonly Part[])[], { row, column }: Position) =>
    isFilled ? of[0]?.[0] : of[row]?.[column];
  const notes =
    rowsLeft > 0
      ? [`${countOf(rowsLeft)} of the clipboard left out: the page has no more rows.`]
      : [];
  await change(
    "Paste into",
    renew,
    async (row, column, place) => {
      const json = exact && find(exact, place);
      const value = find(lines, place);
      if (value === undefined) return { json: textOf(row.row, column.name) };
      if (json !== undefined && isSameKind(column, json)) return { json };
      if (value === "" && !column.required) return { json: "null" };
      const read = await loading;
      if (read === undefined) return NOT_LOADED;
      const pasted = { text: value, isPasted: true };
      return read(column, value, place.row + 1) ?? toValue(column, pasted, row.row);
    },
    notes,
  );
}

/** Copies the first row of the range into the others; without a range, the cell above into the current one. */
async function fillDown(cell: HTMLTableCellElement, renew: () => void): Promise<void> {
  const { row, column } = readPosition(cell);
  if (range === undefined && row > 0)
    range = { from: { row: row - 1, column }, to: { row, column } };
  const [first] = listSelected();
  const top = first?.[0] && (await readKnown(rowIdOf(first[0])));
  if (top === undefined) return;
  await change("Fill down into", renew, (listed, { name }) => ({
    json: listed.row.id === top.row.id ? textOf(listed.row, name) : textOf(top.row, name),
  }));
}

/** Previews new values of the selected cells. */
async function change(
  what: string,
  renew: () => void,
  toNew: Source,
  notes: readonly string[] = [],
) {
  const lines = listSelected();
  const changes: Change[] = [];
  const issues: string[] = [];
  for (const [row, line] of lines.entries()) {
    const known = line[0] && (await readKnown(rowIdOf(line[0])));
    if (known === undefined) continue;
    const values = new Map<string, string>();
    for (const [place, cell] of line.entries()) {
      const column = findColumn(columnOf(cell) ?? "");
      if (column === undefined) continue;
      const value = await toNew(known, column, { row, column: place });
      if ("issue" in value) issues.push(`Row ${row + 1}, ${column.name}: ${value.issue}`);
      else if (value.json !== textOf(known.row, column.name)) values.set(column.name, value.json);
    }
    if (values.size > 0) changes.push({ row: known, values });
  }
  const after = changes.map(({ row, values }) => ({
    ...row,
    row: { ...row.row, ...readIds(values) },
  }));
  await readLabels(after);
  showChanges(openDrawer(renew), { what, changes, notes, issues });
}
