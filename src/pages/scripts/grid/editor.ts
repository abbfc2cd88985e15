/**
 * Edits cells in place. Typed text replaces the value: it is in the grid's input, and Enter or Tab saves it. Enter on a cell opens
 * the field of its column from the row's form, with the value. Shift+Enter starts a new line, Escape cancels, Ctrl+Backspace
 * stores NULL. Saving continues in the background; errors appear in the cell and are announced.
 *
 * @module
 */
import { FIELDS, type Kind } from "../../../kinds/mod.ts";
import { element } from "../dom.ts";
import { readRowForm } from "../forms/row_form.ts";
import { hideSaveState, showNotSaved } from "../save_state.ts";
import { findEditCell, moveFocus, STEPS, type Step, showCellForm } from "./cell_form.ts";
import { enterNull, enterText, findControl, findField, findOption } from "./fields.ts";
import { makeGridInput } from "./input.ts";
import { findCell, findGrid, findRow, onRowsChanged, readPosition, toChord } from "./rows.ts";
import { type CellName, type Edit, makeSaves, readTag } from "./saves.ts";

const VISIBLE_CHARS = 80;

type Target = CellName & { url: string; kind: Kind };

/** The edit that has begun with typed text. */
let typing: (Target & Pick<Edit, "form">) | undefined;
/** The cell whose form is being read. */
let opening: HTMLTableCellElement | undefined;

export const input = makeGridInput({
  onStart: (cell) => startTyping(cell),
  onLeave: (to) => {
    if (to.closest(".save-state") !== null) return;
    if (opening?.contains(to) !== true) cancelOpening();
    commitTyped(undefined);
  },
});

const saves = makeSaves({ show: showEdit, open: openEdit });
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
  const step = STEPS[chord];
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

function startTyping(cell: HTMLTableCellElement): void {
  const target = readTarget(cell);
  if (target === undefined) return void input.empty();
  if (cell === opening) return;
  saves.removeFailed(target);
  hideSaveState();
  if (FIELDS[target.kind].isHelped) return void openCell(cell);
  const { url, rowId } = target;
  typing = { ...target, form: saves.settle(rowId).then(() => readRowForm(url)) };
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
    const form = begun?.rowId === target.rowId ? begun.form : undefined;
    const { rowId, column, url } = target;
    const enter: Edit["enter"] = (read) => {
      const issue = enterText(read, column, text);
      return issue === undefined ? { kind: "entered" } : { kind: "invalid", issue };
    };
    saves.add({ rowId, column, url, text, form, enter });
  }
  moveFocus(readPosition(cell), step);
}

/** A choice has no empty value. */
function isNoChoice({ kind }: Target, text: string): boolean {
  return FIELDS[kind].choices !== undefined && text.trim() === "";
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
  const { rowId, column, url } = target;
  const enter: Edit["enter"] = (form) => {
    const row = findRow(rowId);
    if (row !== null && readTag(form) !== row.dataset["etag"])
      return { kind: "refused", isChanged: true, reason: CHANGED };
    if (enterNull(form, column)) return { kind: "entered" };
    return { kind: "refused", isChanged: false, reason: `${column} cannot be null` };
  };
  saves.add({ rowId, column, url, text: "", enter });
}

const CHANGED =
  "The row has changed. This is the stored value. Press Ctrl+Backspace again for NULL.";

/** Opens the field of a cell with its value; returns whether the cell has one. */
export async function openCell(cell: HTMLTableCellElement): Promise<boolean> {
  const target = readTarget(cell);
  if (target === undefined) return false;
  if (cell === opening || cell.querySelector("form") !== null) return true;
  const failed = saves.removeFailed(target);
  const stored = failed === undefined ? undefined : await failed.form;
  if (failed !== undefined && stored?.kind === "form")
    return openEdit(failed, stored.form) !== undefined;
  hideSaveState();
  cancelOpening();
  opening = cell;
  cell.ariaBusy = "true";
  const { rowId, column, url } = target;
  await saves.settle(rowId);
  const read = await readRowForm(url);
  await input.settle();
  if (opening !== cell) return true;
  cancelOpening();
  if (read.kind === "lost") {
    const retry = () => void openCell(findEditCell(target) ?? cell);
    showNotSaved(read.reason, { name: "Retry", run: retry });
    return true;
  }
  if (findField(read.form, column) === null) {
    input.empty();
    return false;
  }
  const text = input.empty();
  showCellForm({ rowId, column, url, isStale: false }, read.form, cellFormEvents);
  if (text !== undefined) typeInto(findControl(read.form, column), text);
  return true;
}

/** Enters text that was typed before the field opened. */
function typeInto(control: HTMLElement | null, text: string): void {
  if (control instanceof HTMLSelectElement) {
    const found = text.trim() === "" ? undefined : findOption(control, text);
    if (found !== undefined) found.selected = true;
  } else if (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement) {
    control.setRangeText(text, 0, control.value.length, "end");
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Shows the form of an edit that was not stored, unless the user types in another cell. */
function openEdit(edit: Edit, form: HTMLFormElement): (() => void) | undefined {
  const cell = findEditCell(edit);
  const isBusy = input.isTyping() || opening !== undefined || findGrid()?.querySelector("form");
  const isElsewhere = document.activeElement !== document.body && !input.is(document.activeElement);
  if (cell === undefined || isBusy || isElsewhere) return undefined;
  const again = { ...edit, isStale: edit.issues !== undefined, isAgain: true };
  return showCellForm(again, form, cellFormEvents);
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
  const row = cell.closest<HTMLTableRowElement>("tr[data-row-id]");
  const url = row?.querySelector<HTMLAnchorElement>("a[data-edit]")?.href;
  const { column, kind } = findGrid()?.tHead?.rows[0]?.cells[cell.cellIndex]?.dataset ?? {};
  if (url === undefined || column === undefined) return undefined;
  return { rowId: row?.dataset["rowId"] ?? "", column, kind: kind as Kind, url };
}
