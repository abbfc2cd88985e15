/**
 * The form of a row in one of its cells: shows the field of the cell's column, and sends or cancels the form. The keys that save a
 * value move the focus.
 *
 * @module
 */
import { element, makeButton } from "../dom.ts";
import { addFieldHelp } from "../forms/row_form.ts";
import { hideSaveState } from "../save_state.ts";
import { describeField, enterNull, findControl, findField, readFieldState } from "./fields.ts";
import { isInputMethodKey } from "./input.ts";
import {
  findGrid,
  findRow,
  focusCell,
  type Position,
  readPosition,
  renewRow,
  toChord,
} from "./rows.ts";
import type { CellName, Edit } from "./saves.ts";

/** The step of the focus after a key saved the value. */
export const STEPS: Readonly<Record<string, Position>> = {
  Enter: { row: 1, column: 0 },
  "Control+Enter": { row: 1, column: 0 },
  Tab: { row: 0, column: 1 },
  "Shift+Tab": { row: 0, column: -1 },
};
const STAY: Position = { row: 0, column: 0 };

/** `undefined` if the focus has already moved. */
export type Step = Position | undefined;

type Editor = Pick<Edit, "rowId" | "column" | "url" | "before" | "issues" | "isAgain"> & {
  /** Whether the cell can be outdated, because the change was rejected. */
  isStale: boolean;
};

type CellFormEvents = {
  /** The cell is about to show the form. */
  readonly onShow: (cell: HTMLTableCellElement) => void;
  readonly onSave: (edit: Edit) => void;
};

/** Shows only one field of a form in its cell; the other fields are sent unchanged. Returns how to send it. */
export function showCellForm(
  editor: Editor,
  form: HTMLFormElement,
  { onShow, onSave }: CellFormEvents,
): () => void {
  const { rowId, column, issues = [], isAgain = false } = editor;
  const before = editor.before ?? readFieldState(form, column);
  const cell = findEditCell(editor);
  const field = findField(form, column);
  const store = (step: Step) => {
    const at = findEditCell(editor);
    const isChanged = editor.isStale || isAgain || toState(form) !== first;
    hide(form);
    if (isChanged)
      onSave({
        ...{ rowId, column, url: editor.url, text: describeField(form, column) },
        form: Promise.resolve({ kind: "form", form }),
        ...{ before, isAgain },
      });
    if (at !== undefined) moveFocus(readPosition(at), step);
  };
  const first = toState(form);
  if (cell === undefined || field === null) return () => store(undefined);
  onShow(cell);
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
    if (at !== undefined) moveFocus(readPosition(at), STAY);
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

export function findEditCell({ rowId, column }: CellName): HTMLTableCellElement | undefined {
  const heads = [...(findGrid()?.tHead?.rows[0]?.cells ?? [])];
  const index = heads.findIndex(({ dataset }) => dataset["column"] === column);
  return findRow(rowId)?.cells[index];
}

/** Moves the focus from a cell. */
export function moveFocus({ row, column }: Position, step: Step): void {
  const grid = findGrid();
  if (grid === null || step === undefined) return;
  focusCell(grid, { row: row + step.row, column: column + step.column });
}

/** The content of the form, to detect input. */
function toState(form: HTMLFormElement): string {
  return JSON.stringify([...new FormData(form)]);
}
