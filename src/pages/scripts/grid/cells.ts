/** The cells of a grid: their positions, their roles, the keys of the grid, and the link that leads to them. @module */

// The cells of a grid: one cell is a tab stop, by the input of the grid in it, and the arrow keys
// move the focus to others. @see https://www.w3.org/WAI/ARIA/apg/patterns/grid/

import { element } from "../dom.ts";
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
export function markGrid(table: HTMLTableElement): void {
  table.setAttribute("role", "grid");
  for (const section of [...table.tBodies, table.tHead, table.tFoot])
    section?.setAttribute("role", "rowgroup");
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
  const isNew = row.parentElement?.tagName === "TFOOT";
  const rows = isNew ? countGridRows(cell.closest("table")) : row.sectionRowIndex;
  return { row: rows, column: cell.cellIndex };
}

/** The number of rows on the page, without the row that adds others. */
export function countGridRows(table: HTMLTableElement | null): number {
  return table?.tBodies[0]?.rows.length ?? 0;
}

/** The cell at a position, or the nearest cell of a stored row. The row that adds others follows the last one. */
export function findCell(
  table: HTMLTableElement,
  { row, column }: Position,
): HTMLTableCellElement | undefined {
  const count = countGridRows(table);
  const isNew = row === count || count === 0;
  const nearest = Math.max(0, Math.min(row, count - 1));
  const stored = table.tBodies[0]?.rows[nearest];
  const cells = ((isNew ? table.tFoot?.rows[0] : undefined) ?? stored)?.cells;
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

export const ROWS = "[data-rows]";

export function findGrid(): HTMLTableElement | null {
  return document.querySelector(`${ROWS} table[data-grid]`);
}

export function findRow(id: string): HTMLTableRowElement | null {
  return document.querySelector(`${ROWS} tr[data-row-id="${CSS.escape(id)}"]`);
}

/** The cell that has the focus, or had it last. */
export function findCurrent(grid: HTMLTableElement): Position {
  const cell =
    grid.querySelector<HTMLTableCellElement>("td[data-current]") ??
    findCell(grid, { row: 0, column: 0 });
  return cell === undefined ? { row: 0, column: 0 } : readPosition(cell);
}

/** The name of the column of a cell; `undefined` for the id and the actions. */
export function columnOf(cell: HTMLTableCellElement): string | undefined {
  return cell.closest("table")?.tHead?.rows[0]?.cells[cell.cellIndex]?.dataset["column"];
}

/** Whether a cell is in the row that adds others. */
export function isOfNewRow(cell: HTMLTableCellElement | undefined): boolean {
  return cell?.closest("tfoot") != null;
}

/** The id of the cell's row; empty in the row that adds others. */
export function rowIdOf(cell: HTMLTableCellElement): string {
  return cell.closest<HTMLTableRowElement>("tr[data-row-id]")?.dataset["rowId"] ?? "";
}

/** Without the link, the rows are some thirty tab stops away. Only a script can focus the current cell. */
export function addSkipLink(): void {
  const link = element("a", { class: "skip", href: "#main" }, "Skip to the rows");
  link.addEventListener("click", (event) => {
    const grid = findGrid();
    if (grid === null) return;
    event.preventDefault();
    focusCell(grid, findCurrent(grid));
  });
  document.querySelector(".skip")?.after(link);
}

const KEYS = [
  { keys: ["↑", "↓", "←", "→"], name: "Move; with Ctrl to the edge" },
  { keys: ["Page ↓", "Page ↑"], name: "Move ten rows; from the last row, open the next page" },
  { keys: ["Enter", "F2"], name: "Edit the cell" },
  { keys: ["a", "7", "…"], name: "Replace the value of the cell" },
  { keys: ["Enter", "Tab"], name: "Save the value and move on" },
  { keys: ["Shift Enter"], name: "Start a new line" },
  { keys: ["Esc"], name: "Cancel the edit" },
  { keys: ["Ctrl ⌫"], name: "Set the cell to null" },
  { keys: ["Ctrl Z"], name: "Undo the last saved change" },
  { keys: ["Shift Enter"], name: "Edit the whole row" },
  { keys: ["Shift ↑", "Shift ↓", "Shift ←", "Shift →"], name: "Select a range; also by dragging" },
  { keys: ["Ctrl C", "Ctrl V"], name: "Copy the range; paste a range after a preview" },
  { keys: ["Enter"], name: "On the last row, “+”: add a row" },
  { keys: ["Ctrl D"], name: "Fill the range down with its first row" },
  { keys: ["Shift Space"], name: "Select the row" },
  { keys: ["Del"], name: "Delete the row, after a confirmation" },
] as const;

/** Adds the list to the page, where the dialog finds it. */
export function addGridKeys(): void {
  const entries = KEYS.flatMap(({ keys, name }) => [
    element("dt", {}, ...keys.flatMap((key) => [element("kbd", {}, key), " "])),
    element("dd", {}, name),
  ]);
  document.body.append(
    element("dl", { class: "keys", hidden: "", "data-keys-of": "In the grid" }, ...entries),
  );
}
