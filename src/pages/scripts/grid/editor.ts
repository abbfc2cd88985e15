/**
 * Edits cells in place. Typed text replaces the value, also of a choice: it is in the grid's input, and Enter or Tab saves it. Enter
 * on a cell opens the field of its column with the value. Shift+Enter starts a new line, Escape cancels, Ctrl+Backspace stores NULL.
 * Saving continues in the background; errors appear in the cell and are announced.
 *
 * @module
 */
import { FIELDS } from "../../../kinds/mod.ts";
import type { NamedColumn } from "../../../schema/mod.ts";
import type { ListedRow } from "../../rows/row.ts";
import { announce, element } from "../dom.ts";
import { makeGridInput } from "../input.ts";
import { hideSaveState } from "../save_state.ts";
import { findEditCell, moveFocus, STEPS, type Step, showCellForm } from "./cell_form.ts";
import {
  columnOf,
  findCell,
  findGrid,
  isOfNewRow,
  readPosition,
  rowIdOf,
  toChord,
} from "./cells.ts";
import { enterText, findControl } from "./fields.ts";
import { onRowsChanged, readKnown } from "./rows.ts";
import { type CellName, type Edit, makeSaves } from "./saves.ts";
import { fetchRow } from "./store.ts";
import { findColumn } from "./values.ts";

const VISIBLE_CHARS = 80;

let typesNewRow: (cell: HTMLTableCellElement) => void = () => undefined;

/** Calls the listener when text is typed in the row that adds others. */
export function onNewRowTyped(listener: typeof typesNewRow): void {
  typesNewRow = listener;
}

type Target = CellName & { readonly kind: NamedColumn };

/** The edit that has begun with typed text. */
let typing: (CellName & Pick<Edit, "from">) | undefined;
/** The cell whose value is being read. */
let opening: HTMLTableCellElement | undefined;

export const input = makeGridInput({
  onStart: (cell) => startTyping(cell),
  onLeave: (to) => {
    if (to.closest(".save-state") !== null) return;
    if (opening?.contains(to) !== true) cancelOpening();
    commitTyped(undefined);
  },
});

export const saves = makeSaves({ show: showEdit, open: openEdit });
const cellFormEvents = { onShow: input.attach, onSave: saves.add };

onRowsChanged((grid, current) => {
  const cell = findCell(grid, current);
  if (cell !== undefined) input.attach(cell);
});

/** Selects a cell and moves the focus to its input. */
export function selectCell(cell: HTMLTableCellElement): void {
  if (input.cell() !== cell) {
    cancelOpening();
    commitTyped(undefined);
    input.attach(cell);
  }
  input.focus();
}

/** Handles a key in the input while it has text or its cell is opening. Returns whether the key was handled. */
export function handleTypingKey(event: KeyboardEvent): boolean {
  const chord = toChord(event);
  const cell = input.cell();
  if (cell === undefined || (!input.isTyping() && opening === undefined)) return false;
  // The form of the new row takes the text over.
  const step = isOfNewRow(cell) ? undefined : STEPS[chord];
  if (chord === "Escape") {
    cancelOpening();
    discardTyped();
  } else if (step !== undefined) {
    cancelOpening();
    commitTyped(step);
  } else if (chord === "Control+Backspace" && input.isTyping()) {
    discardTyped();
    storeNull(cell);
  } else return input.isTyping() || chord === "F2";
  event.preventDefault();
  return true;
}

/** The row after the edits of it that wait. */
function readSettled(rowId: string): Promise<ListedRow | undefined> {
  return saves.settle(rowId).then(() => readKnown(rowId));
}

function startTyping(cell: HTMLTableCellElement): void {
  const target = readTarget(cell);
  if (target === undefined) {
    if (isOfNewRow(cell)) typesNewRow(cell);
    else input.empty();
    return;
  }
  if (cell === opening) return;
  saves.removeFailed(target);
  hideSaveState();
  if (FIELDS[target.kind.kind].isHelped) return void openCell(cell);
  const { rowId, column } = target;
  typing = { rowId, column, from: readSettled(rowId) };
}

/** Adds the typed text to the edits to save, and moves the focus. */
function commitTyped(step: Step): void {
  const cell = input.cell();
  const target = cell && readTarget(cell);
  const begun = typing;
  typing = undefined;
  const text = input.empty();
  if (cell === undefined) return;
  if (target !== undefined && text !== undefined && !isNoChoice(target, text)) {
    const { rowId, column } = target;
    const isBegun = begun?.rowId === rowId && begun.column === column;
    const from = isBegun ? begun.from : readSettled(rowId);
    saves.add({ rowId, column, text, input: { text }, from });
  }
  moveFocus(readPosition(cell), step);
}

/** A choice has no empty value. */
function isNoChoice({ kind }: Target, text: string): boolean {
  return FIELDS[kind.kind].choices !== undefined && text.trim() === "";
}

function discardTyped(): void {
  typing = undefined;
  input.empty();
}

function cancelOpening(): void {
  if (opening === undefined) return;
  opening.ariaBusy = null;
  opening = undefined;
}

/** Stores NULL in a cell, but not over a newer value of another user. */
export function storeNull(cell: HTMLTableCellElement): void {
  const target = readTarget(cell);
  if (target === undefined) return;
  const { rowId, column, kind } = target;
  if (kind.required) {
    announce(`${column} cannot be null`);
    return;
  }
  const from = readSettled(rowId);
  saves.add({ rowId, column, text: "", input: { state: "null" }, from });
}

const CHANGED =
  "The row has changed. This is the stored value. Press Ctrl+Backspace again for NULL.";

/** Opens the field of a cell with its value; returns whether the cell has one. */
export async function openCell(cell: HTMLTableCellElement): Promise<boolean> {
  const target = readTarget(cell);
  if (target === undefined) return false;
  if (cell === opening || cell.querySelector("form") !== null) return true;
  const failed = saves.removeFailed(target);
  if (failed !== undefined) {
    openEdit(failed);
    return true;
  }
  hideSaveState();
  cancelOpening();
  opening = cell;
  cell.ariaBusy = "true";
  const { rowId, column } = target;
  const row = await readSettled(rowId);
  await input.settle();
  if (opening !== cell) return true;
  cancelOpening();
  if (row === undefined) {
    input.empty();
    return false;
  }
  const text = input.empty();
  const shown = await showCellForm({ rowId, column, row }, cellFormEvents);
  // Text that was typed while the form opened.
  const typed = (text ?? "") + (input.empty() ?? "");
  if (shown === undefined || typed === "") return true;
  const control = findControl(shown.form, column);
  if (!enterText(control, typed)) {
    // A choice or a calendar cannot take the text over: the text replaces the value, and the focus closes the form.
    typing = { rowId, column, from: Promise.resolve(row) };
    input.put(typed);
    input.focus();
  }
  return true;
}

/** Shows an edit that was not stored in its cell, unless the user types in another cell. */
function openEdit(edit: Edit): (() => void) | undefined {
  const cell = findEditCell(edit);
  const isBusy = input.isTyping() || opening !== undefined || findGrid()?.querySelector("form");
  const isElsewhere = document.activeElement !== document.body && !input.is(document.activeElement);
  if (cell === undefined || isBusy || isElsewhere) return undefined;
  const shown = openFailed(edit);
  return () => void shown.then((opened) => opened?.send());
}

/** With the current row: the next save overwrites what the form shows as stored. */
async function openFailed({ rowId, column, input: typed, issues, isOutdated, from }: Edit) {
  const current = isOutdated === true ? await fetchRow(rowId) : await from;
  if (current === undefined || "kind" in current) return undefined;
  const isNull = "state" in typed && typed.state === "null";
  const state = "state" in typed ? typed.state : { text: typed.text };
  if (isOutdated === true && isNull) {
    announce(CHANGED);
    return await showCellForm({ rowId, column, row: current }, cellFormEvents);
  }
  return await showCellForm(
    {
      ...{ rowId, column, row: current, state, isAgain: true },
      ...(issues === undefined ? {} : { issues }),
      ...(isOutdated === undefined ? {} : { isOutdated }),
    },
    cellFormEvents,
  );
}

/** Displays the new value of a cell until it is stored. */
function showEdit(edit: Edit, state: "waiting" | "failed"): void {
  const cell = findEditCell(edit);
  if (cell === undefined || cell.querySelector("form") !== null) return;
  const text =
    edit.text.length > VISIBLE_CHARS ? `${edit.text.slice(0, VISIBLE_CHARS)}…` : edit.text;
  for (const child of [...cell.childNodes]) if (!input.is(child)) child.remove();
  cell.prepend(text === "" ? "" : element("bdi", {}, text));
  cell.dataset["saving"] = state;
}

/** The row and column of a cell; `undefined` for a cell without a value, such as the id. */
function readTarget(cell: HTMLTableCellElement): Target | undefined {
  const column = columnOf(cell);
  const kind = column === undefined ? undefined : findColumn(column);
  return column === undefined || kind === undefined || isOfNewRow(cell)
    ? undefined
    : { rowId: rowIdOf(cell), column, kind };
}
