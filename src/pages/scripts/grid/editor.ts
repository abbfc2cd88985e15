/**
 * Edits cells in place. Typed text replaces the value: it is in the grid's input, and Enter or Tab saves it. Enter on a cell opens
 * the field of its column from the row's form, with the value. Shift+Enter starts a new line, Escape cancels, Ctrl+Backspace
 * stores NULL. Saving continues in the background; errors appear in the cell and are announced.
 *
 * @module
 */
import { FIELDS, type Kind } from "../../../kinds/mod.ts";
import { element, makeButton } from "../dom.ts";
import { addFieldHelp, readRowForm } from "../forms/row_form.ts";
import { hideSaveState, showNotSaved } from "../save_state.ts";
import {
  describeField,
  enterNull,
  enterText,
  findControl,
  findField,
  findOption,
  readFieldState,
} from "./fields.ts";
import { isInputMethodKey, makeGridInput } from "./input.ts";
import {
  findCell,
  findGrid,
  findRow,
  focusCell,
  onRowsChanged,
  type Position,
  readPosition,
  renewRow,
  toChord,
} from "./rows.ts";
import { type CellName, type Edit, makeSaves, readTag } from "./saves.ts";

/** The step of the focus after a key saved the value. */
const STEPS: Readonly<Record<string, Position>> = {
  Enter: { row: 1, column: 0 },
  "Control+Enter": { row: 1, column: 0 },
  Tab: { row: 0, column: 1 },
  "Shift+Tab": { row: 0, column: -1 },
};
const STAY: Position = { row: 0, column: 0 };
const VISIBLE_CHARS = 80;

/** `undefined` if the focus has already moved. */
type Step = Position | undefined;
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
  move(readPosition(cell), step);
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
  showForm({ rowId, column, url, isStale: false }, read.form);
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
  return showForm({ ...edit, isStale: edit.issues !== undefined, isAgain: true }, form);
}

type Editor = Pick<Edit, "rowId" | "column" | "url" | "before" | "issues" | "isAgain"> & {
  /** Whether the cell can be outdated, because the change was rejected. */
  isStale: boolean;
};

/** Shows only one field of a form in its cell; the other fields are sent unchanged. Returns how to send it. */
function showForm(editor: Editor, form: HTMLFormElement): () => void {
  const { rowId, column, issues = [], isAgain = false } = editor;
  const before = editor.before ?? readFieldState(form, column);
  const cell = findEditCell(editor);
  const field = findField(form, column);
  const store = (step: Step) => {
    const at = findEditCell(editor);
    const isChanged = editor.isStale || isAgain || toState(form) !== first;
    hide(form);
    if (isChanged)
      saves.add({
        ...{ rowId, column, url: editor.url, text: describeField(form, column) },
        form: Promise.resolve({ kind: "form", form }),
        ...{ before, isAgain },
      });
    if (at !== undefined) move(readPosition(at), step);
  };
  const first = toState(form);
  if (cell === undefined || field === null) return () => store(undefined);
  input.attach(cell);
  for (const part of form.querySelectorAll<HTMLElement>(".field, [data-field], .action-buttons, p"))
    if (!part.contains(field) && !field.contains(part)) part.hidden = true;
  form.noValidate = true;
  form.className = "cell-form";
  form.ariaBusy = null;
  // The editor covers the content of the cell, so that no column becomes wider.
  cell.append(form);
  addFieldHelp(form);
  cell.classList.add("cell-edited");
  delete cell.dataset["saving"];
  const frame = cell.closest(".sheet")?.getBoundingClientRect();
  const isCut = form.getBoundingClientRect().right > (frame?.right ?? innerWidth);
  form.classList.toggle("cell-form-end", isCut);
  const cancel = () => {
    hide(form);
    hideSaveState();
    if (editor.isStale || isAgain) void renewRow(rowId);
    const at = findEditCell(editor);
    if (at !== undefined) move(readPosition(at), STAY);
  };
  if (issues.length > 0) showIssues(form, issues, cancel);
  const control = findControl(form, column);
  control?.focus();
  if (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement)
    control.select();
  listen(form, { store, cancel, storeNull: () => enterNull(form, column) && store(STAY) });
  return () => store(STAY);
}

type FormActions = {
  store: (step: Step) => void;
  cancel: () => void;
  storeNull: () => void;
};

function listen(form: HTMLFormElement, { store, cancel, storeNull: clear }: FormActions): void {
  const listeners = new AbortController();
  const { signal } = listeners;
  const end = (run: () => void) => {
    // The form can be displayed again, with new listeners.
    listeners.abort();
    run();
  };
  form.addEventListener(
    "submit",
    (event) => {
      event.preventDefault();
      end(() => store(STEPS["Enter"]));
    },
    { signal },
  );
  form.addEventListener(
    "keydown",
    (event) => {
      event.stopPropagation();
      if (isInputMethodKey(event)) return;
      const chord = toChord(event);
      const step = STEPS[chord];
      if (chord === "Escape") end(cancel);
      else if (chord === "Control+Backspace") clear();
      else if (step === undefined) return;
      else end(() => store(step));
      event.preventDefault();
    },
    { signal },
  );
  form.addEventListener(
    "focusout",
    ({ relatedTarget }) => {
      // Stays open if the user switches to another window. Retry sends the form itself.
      if (!(relatedTarget instanceof Element) || relatedTarget.closest(".save-state") !== null)
        return;
      if (relatedTarget.closest("form") !== form) end(() => store(undefined));
    },
    { signal },
  );
}

function hide(form: HTMLFormElement): void {
  form.closest("td")?.classList.remove("cell-edited");
  form.querySelector(":scope > .cell-issues")?.remove();
  form.remove();
}

/** Adds errors of the row, such as a concurrent change. The field already shows its own errors. */
function showIssues(form: HTMLFormElement, issues: readonly string[], cancel: () => void): void {
  const isStated = form.querySelector("[data-field]:not([hidden]) .issues") !== null;
  const parts = isStated ? [] : [element("p", { class: "issues" }, issues.join(" "))];
  form.append(element("div", { class: "cell-issues" }, ...parts, makeButton("Undo", cancel)));
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

function findEditCell({ rowId, column }: CellName): HTMLTableCellElement | undefined {
  const heads = [...(findGrid()?.tHead?.rows[0]?.cells ?? [])];
  const index = heads.findIndex(({ dataset }) => dataset["column"] === column);
  return findRow(rowId)?.cells[index];
}

/** The row and column of a cell; `undefined` for a cell without a value, such as the id. */
function readTarget(cell: HTMLTableCellElement): Target | undefined {
  const row = cell.closest<HTMLTableRowElement>("tr[data-row-id]");
  const url = row?.querySelector<HTMLAnchorElement>("a[data-edit]")?.href;
  const { column, kind } = findGrid()?.tHead?.rows[0]?.cells[cell.cellIndex]?.dataset ?? {};
  if (url === undefined || column === undefined) return undefined;
  return { rowId: row?.dataset["rowId"] ?? "", column, kind: kind as Kind, url };
}

function move({ row, column }: Position, step: Step): void {
  const grid = findGrid();
  if (grid === null || step === undefined) return;
  focusCell(grid, { row: row + step.row, column: column + step.column });
}

/** The content of the form, to detect input. */
function toState(form: HTMLFormElement): string {
  return JSON.stringify([...new FormData(form)]);
}
