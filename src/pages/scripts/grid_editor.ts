/**
 * Edits a cell in place, with the field of its column from the row's form. Enter and Tab save the value and move on. Shift+Enter
 * starts a new line, Escape cancels, Ctrl+Backspace stores NULL. Errors appear in the cell and are announced.
 *
 * @module
 */
import { announce } from "./announce.ts";
import { element, makeButton } from "./element.ts";
import { findCell, focusCell, type Position, readPosition, toChord } from "./grid_cells.ts";
import { findGrid, findRow, renewRow } from "./grid_rows.ts";
import { keepTyping } from "./grid_typing.ts";
import { chooseNull } from "./null_choice.ts";
import { addFieldHelp } from "./row_fields.ts";
import { readRowForm, renewToken, sendRowForm } from "./row_form.ts";
import { hideSaveState, showNotSaved, showSaved } from "./save_state.ts";

const CONTROL = "input:not([type=hidden], [type=checkbox]), select, textarea";
/** The step of the focus after a key stored the value. */
const STEPS: Readonly<Record<string, Position>> = {
  Enter: { row: 1, column: 0 },
  "Control+Enter": { row: 1, column: 0 },
  Tab: { row: 0, column: 1 },
  "Shift+Tab": { row: 0, column: -1 },
};
const STAY: Position = { row: 0, column: 0 };

/** `undefined` if the focus has already moved. */
type Step = Position | undefined;

type Editor = {
  cell: HTMLTableCellElement;
  rowId: string;
  column: string;
  /** Whether the cell can be outdated, because a change was rejected. */
  isStale: boolean;
  isSending: boolean;
  /** The original content of the field. */
  before: readonly ControlState[];
};

type EditOptions = {
  toNull?: boolean;
  /** Typed characters that replace the value. */
  typed?: string;
};

/** The characters typed on a cell whose form could not be read. */
const unread = new WeakMap<HTMLTableCellElement, string>();

/** Opens the editor of a cell; returns whether the cell has one. */
export async function editCell(
  cell: HTMLTableCellElement,
  { toNull = false, typed = "" }: EditOptions = {},
): Promise<boolean> {
  const row = cell.closest<HTMLTableRowElement>("tr[data-row-id]");
  const url = row?.querySelector<HTMLAnchorElement>("a[data-edit]")?.href;
  const column = readColumn(cell);
  if (row === null || url === undefined || column === undefined) return false;
  if (cell.ariaBusy === "true" || isEdited(cell)) return true;
  hideSaveState();
  cell.ariaBusy = "true";
  const typing = keepTyping(cell, (unread.get(cell) ?? "") + typed);
  const read = await readRowForm(url);
  cell.ariaBusy = null;
  typing.end();
  if (read.kind === "lost") {
    unread.set(cell, typing.text());
    const run = () => void editCell(cell, { toNull });
    showNotSaved(read.reason, { name: "Retry", run });
    return true;
  }
  unread.delete(cell);
  const { form } = read;
  if (findField(form, column) === null) return false;
  const rowId = row.dataset["rowId"] ?? "";
  const editor = {
    cell,
    rowId,
    column,
    isStale: false,
    isSending: false,
    before: readControls(form, column),
  };
  showForm(editor, form);
  typing.typeInto(document.activeElement);
  if (toNull) await storeNullUnseen(editor, form, row.dataset["etag"]);
  return true;
}

function isEdited(cell: HTMLTableCellElement): boolean {
  return cell.querySelector("form") !== null;
}

/** Replaces the displayed value with NULL, but not a newer value of another user. */
async function storeNullUnseen(
  editor: Editor,
  form: HTMLFormElement,
  displayed: string | undefined,
): Promise<void> {
  const isUnchanged = readVersion(form) === displayed;
  if (isUnchanged) return await storeNull(editor, form);
  editor.isStale = true;
  announce("The row has changed. This is the stored value. Press Ctrl+Backspace again for NULL.");
}

/** The tag of the row when the form was read. */
function readVersion(form: HTMLFormElement): string | undefined {
  const field = form.querySelector<HTMLInputElement>('input[type="hidden"][name="etag"]');
  return field?.value;
}

/** The name of a cell's column, from the table head. */
function readColumn({ cellIndex }: HTMLTableCellElement): string | undefined {
  return findGrid()?.tHead?.rows[0]?.cells[cellIndex]?.dataset["column"];
}

function findField(form: HTMLFormElement, column: string): HTMLElement | null {
  return form.querySelector<HTMLElement>(`[data-field="${CSS.escape(column)}"]`);
}

/** Shows only one field. The other fields are sent unchanged. */
function showForm(editor: Editor, form: HTMLFormElement): void {
  const field = findField(form, editor.column);
  if (field === null) return;
  for (const part of form.querySelectorAll<HTMLElement>(".field, [data-field], .action-buttons, p"))
    if (!part.contains(field) && !field.contains(part)) part.hidden = true;
  form.noValidate = true;
  form.className = "cell-form";
  // The editor covers the content of the cell, so that no column becomes wider.
  editor.cell.querySelector("form")?.remove();
  editor.cell.append(form);
  addFieldHelp(form);
  editor.cell.classList.add("cell-edited");
  const frame = editor.cell.closest(".sheet")?.getBoundingClientRect();
  const isCut = form.getBoundingClientRect().right > (frame?.right ?? innerWidth);
  form.classList.toggle("cell-form-end", isCut);
  const control = field.querySelector<HTMLElement>(CONTROL);
  control?.focus();
  if (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement)
    control.select();
  listen(editor, form);
}

function listen(editor: Editor, form: HTMLFormElement): void {
  const first = toState(form);
  const store = async (step: Step) => {
    if (toState(form) === first && !editor.isStale) close(editor, step);
    else await storeForm(editor, form, step);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void store(STEPS["Enter"] ?? STAY);
  });
  form.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const chord = toChord(event);
    const step = STEPS[chord];
    if (chord === "Escape") close(editor, STAY);
    else if (chord === "Control+Backspace") void storeNull(editor, form);
    else if (step === undefined) return;
    else void store(step);
    event.preventDefault();
  });
  form.addEventListener("focusout", ({ relatedTarget }) => {
    // Stays open if the user switches to another window. Retry sends the form itself.
    if (!(relatedTarget instanceof Element) || relatedTarget.closest(".save-state") !== null)
      return;
    if (relatedTarget.closest("form") !== form) void store(undefined);
  });
}

async function storeNull(editor: Editor, form: HTMLFormElement): Promise<void> {
  if (!chooseNull(findField(form, editor.column)))
    return announce(`${editor.column} cannot be null`);
  await storeForm(editor, form, STAY);
}

async function storeForm(editor: Editor, form: HTMLFormElement, step: Step): Promise<void> {
  if (editor.isSending) return;
  editor.isSending = true;
  form.ariaBusy = "true";
  const sent = await sendRowForm(form);
  editor.isSending = false;
  form.ariaBusy = null;
  if (sent.kind === "lost") {
    const retry = () => renewToken(form).finally(() => void storeForm(editor, form, step));
    showNotSaved(sent.reason, { name: "Retry", run: () => void retry().catch(() => undefined) });
  } else if (sent.kind === "rejected") {
    showForm(editor, sent.form);
    showIssues(editor, sent.issues);
  } else {
    const position = readPosition(editor.cell);
    await renewRow(editor.rowId, sent.page);
    showSaved("Saved", { name: "Undo", run: () => void undo(editor) });
    move(position, step);
  }
}

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;
type ControlState = { name: string; value: string; isChecked: boolean };

function findControls(form: HTMLFormElement, column: string): Control[] {
  return [...(findField(form, column)?.querySelectorAll<Control>("input, select, textarea") ?? [])];
}

function readControls(form: HTMLFormElement, column: string): ControlState[] {
  return findControls(form, column).map((control) => ({
    name: control.name,
    value: control.value,
    isChecked: control instanceof HTMLInputElement && control.checked,
  }));
}

/** Restores the value from before a saved edit, if the row has not changed since. */
async function undo(editor: Editor): Promise<void> {
  const { rowId, column, before } = editor;
  const row = findRow(rowId);
  const url = row?.querySelector<HTMLAnchorElement>("a[data-edit]")?.href;
  if (row === null || url === undefined) return showNotSaved("the row is not on this page.");
  const retry = { name: "Retry", run: () => void undo(editor) };
  const read = await readRowForm(url);
  if (read.kind === "lost") return showNotSaved(read.reason, retry);
  if (readVersion(read.form) !== row.dataset["etag"])
    return showNotSaved("the row has changed since.");
  for (const control of findControls(read.form, column)) {
    const state = before.find(({ name }) => name === control.name);
    if (state === undefined) continue;
    if (control instanceof HTMLInputElement && control.type === "checkbox")
      control.checked = state.isChecked;
    else control.value = state.value;
  }
  const sent = await sendRowForm(read.form);
  if (sent.kind === "lost") return showNotSaved(sent.reason, retry);
  if (sent.kind === "rejected") return showNotSaved(sent.issues.join(" "));
  await renewRow(rowId, sent.page);
  showSaved("Undone");
}

/** Adds errors of the row, such as a concurrent change. The field already shows its own errors. */
function showIssues(editor: Editor, issues: readonly string[]): void {
  editor.isStale = true;
  const form = editor.cell.querySelector("form");
  const isStated = form?.querySelector("[data-field]:not([hidden]) .issues") !== null;
  if (!isStated) form?.append(element("p", { class: "issues" }, issues.join(" ")));
  form?.append(makeButton("Undo", () => close(editor, STAY)));
  showNotSaved(issues.join(" "));
}

/** Shows the original cell; after a rejection, the current row. */
function close({ cell, rowId, isStale }: Editor, step: Step): void {
  const position = readPosition(cell);
  cell.classList.remove("cell-edited");
  cell.querySelector("form")?.remove();
  hideSaveState();
  move(position, step);
  if (isStale) void renewRow(rowId);
}

function move({ row, column }: Position, step: Step): void {
  const grid = findGrid();
  if (grid === null || step === undefined) return;
  const cell = findCell(grid, { row: row + step.row, column: column + step.column });
  if (cell !== undefined) focusCell(grid, readPosition(cell));
}

/** The content of the form, to detect input. */
function toState(form: HTMLFormElement): string {
  return JSON.stringify([...new FormData(form)]);
}
