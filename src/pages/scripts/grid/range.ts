/**
 * A range of cells: selected with Shift and arrow keys, Shift and a click, or by dragging. Copied as a spreadsheet copies it, pasted
 * and filled down through the preview of changes. A pasted table continues in the rows of the next pages, and then in new rows.
 *
 * @module
 */

import type { NamedColumn } from "../../../schema/mod.ts";
import { readTsv, toTsv } from "../../../std/tsv.ts";
import { textOf } from "../../rows/row.ts";
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
import type { PastePage, Target, Tools } from "./pasted.ts";
import { onRowsChanged, readKnown } from "./rows.ts";
import { findStored, keep, readLabels, readTable } from "./store.ts";
import { describeSize, findColumn, isSameKind, readIds, toShown, toValue } from "./values.ts";
import { MAX_CHANGED } from "./write.ts";

type Range = { readonly from: Position; readonly to: Position };

let range: Range | undefined;
let isDragging = false;
/** The last copied range, whose values are pasted exactly. */
let copied: { readonly text: string; readonly json: readonly (readonly string[])[] } | undefined;

const SELECTED = "td[aria-selected=true]";

export function startRange(page: PastePage): void {
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
    void paste(lines, page);
  });
}

let dragStart: Position | undefined;

function findCellOf(target: EventTarget | null): HTMLTableCellElement | null {
  if (!(target instanceof Element) || target.closest("form, a, button, input") !== null)
    return null;
  return target.closest<HTMLTableCellElement>("[data-grid] :is(tbody, tfoot) td");
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
    void setNull(renew);
    return true;
  }
  if (chord === "Escape" && range !== undefined) {
    clear();
    return true;
  }
  if (!/^(Control|Shift|Alt|Meta)/.test(chord)) clear();
  return false;
}

async function setNull(renew: () => void): Promise<void> {
  const targets = await readTargets();
  const preview = await loadPreview();
  await preview?.showNewValues(TOOLS, "Set to null in", {
    targets,
    renew,
    toNew: () => ({ json: "null" }),
  });
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

/** The selected cells of stored rows with a value, or the current cell. */
function listSelected(): HTMLTableCellElement[][] {
  const current = input.cell();
  const cells = range === undefined ? (current === undefined ? [] : [[current]]) : listCells(range);
  return cells
    .map((line) => line.filter((cell) => columnOf(cell) !== undefined && rowIdOf(cell) !== ""))
    .filter((line) => line.length > 0);
}

/** The clipboard takes the text at once, so only rows that this page has read are copied. */
function copy(event: ClipboardEvent): void {
  if (!isFree(event.target) || event.clipboardData === null) return;
  const lines = listSelected();
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

const TOOLS: Tools = {
  ...{ keep, readLabels, readTable, isSameKind, readIds, textOf, toValue },
  ...{ showChanges, countOf, openDrawer, MAX_CHANGED },
};

/** The scripts of a page have the same digest. */
async function loadPreview(): Promise<typeof import("./pasted.ts") | undefined> {
  const address = import.meta.url.replace(/\/\w+\.(?=[0-9a-f]+\.js$)/, "/paste.");
  try {
    return await import(address);
  } catch {
    showFailure("Cannot show the new values: check the connection, and reload the page.");
    return undefined;
  }
}

/** Pastes at the selected cell; a single value fills the range. */
async function paste(lines: readonly (readonly string[])[], page: PastePage): Promise<void> {
  const text = toTsv(lines);
  const isCopied = copied !== undefined && text === toTsv(readTsv(copied.text));
  const start = listSelected()[0]?.[0] ?? input.cell();
  if (start === undefined) return;
  const from = readPosition(start);
  const [height, width] = [lines.length, Math.max(...lines.map(({ length }) => length))];
  const isFilled = height * width === 1 && range !== undefined;
  const to = { row: from.row + height - 1, column: from.column + width - 1 };
  if (!isFilled) range = { from, to };
  mark();
  const preview = await loadPreview();
  await preview?.showPasted(
    TOOLS,
    {
      ...{ lines, exact: isCopied ? copied?.json : undefined, isFilled },
      columns: listColumns(range ?? { from, to }),
    },
    { ...page, stored: await readTargets() },
  );
}

/** The selected rows, and their selected columns. */
async function readTargets(): Promise<Target[]> {
  const targets: Target[] = [];
  for (const line of listSelected()) {
    const row = line[0] && (await readKnown(rowIdOf(line[0])));
    const columns = line.flatMap((cell) => findColumn(columnOf(cell) ?? "") ?? []);
    if (row !== undefined) targets.push({ row, columns });
  }
  return targets;
}

function listColumns({ from, to }: Range): NamedColumn[] {
  const heads = [...(findGrid()?.tHead?.rows[0]?.cells ?? [])];
  const [left, right] = [Math.min(from.column, to.column), Math.max(from.column, to.column)];
  return heads
    .slice(left, right + 1)
    .flatMap(({ dataset }) => findColumn(dataset["column"] ?? "") ?? []);
}

/** Copies the first row of the range into the others; without a range, the cell above into the current one. */
async function fillDown(cell: HTMLTableCellElement, renew: () => void): Promise<void> {
  const { row, column } = readPosition(cell);
  if (range === undefined && row > 0)
    range = { from: { row: row - 1, column }, to: { row, column } };
  const targets = await readTargets();
  const top = targets[0]?.row;
  if (top === undefined) return;
  const preview = await loadPreview();
  await preview?.showNewValues(TOOLS, "Fill down into", {
    ...{ targets, renew },
    toNew: (listed, { name }) => ({
      json: textOf((listed?.row.id === top.row.id ? listed : top).row, name),
    }),
  });
}
