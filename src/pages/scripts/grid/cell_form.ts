/**
 * The field of a cell's column as a form in the cell, the same as in the form of a row. The keys that save a value move the focus.
 *
 * @module
 */

import { toRowPath } from "../../rows/cells.tsx";
import { type RowField, renderRowField } from "../../rows/fields.tsx";
import type { ListedRow } from "../../rows/row.ts";
import { type State, showState, toState } from "../../rows/state.ts";
import { toDataUrl } from "../data.ts";
import { element, makeButton } from "../dom.ts";
import { toNode } from "../dom_jsx.ts";
import { addFieldHelp } from "../forms/row_dialog.ts";
import { isInputMethodKey } from "../input.ts";
import { hideSaveState } from "../save_state.ts";
import {
  countGridRows,
  findGrid,
  findRow,
  focusCell,
  type Position,
  readPosition,
  toChord,
} from "./cells.ts";
import { describeField, enterNull, findControl, readField } from "./fields.ts";
import { renewRow } from "./rows.ts";
import type { CellName, Edit } from "./saves.ts";
import { labels, readTable, tagOf } from "./store.ts";
import { findColumn } from "./values.ts";

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

type Editor = CellName & {
  /** The row when the form was opened: a newer value of another user is not overwritten. */
  readonly row: ListedRow;
  /** The input to show instead of the row's value. */
  readonly state?: State | undefined;
  readonly issues?: readonly string[];
  /** Whether to show the stored value, because another user has changed it. */
  readonly isOutdated?: boolean;
  readonly isAgain?: boolean;
};

type CellFormEvents = {
  /** The cell is about to show the form. */
  readonly onShow: (cell: HTMLTableCellElement) => void;
  readonly onSave: (edit: Edit) => void;
};

/** A value of this length is edited in the form of its row. */
const MAX_CHARS = 80_000;

/** Shows the form of a value in its cell. Returns how to send it; `undefined` if the cell has none. */
export async function showCellForm(
  editor: Editor,
  { onShow, onSave }: CellFormEvents,
): Promise<{ readonly send: () => void; readonly form: HTMLFormElement } | undefined> {
  const { rowId, row, issues = [], isAgain = false } = editor;
  const column = findColumn(editor.column);
  if (column === undefined) return undefined;
  const stored = toState(column, row.row);
  const wasNull = stored === "null";
  const state = editor.state ?? stored;
  const field: RowField = {
    ...{ column, state, issues: editor.isOutdated === true ? [] : issues },
    now: editor.isOutdated === true ? showState(stored) : undefined,
    ...toReference(column.table, state),
    isTooLong: typeof state === "object" && state.text.length > MAX_CHARS,
  };
  const etag = await tagOf(row);
  const cell = findEditCell(editor);
  if (cell === undefined) return undefined;
  const form = element("form", {
    class: "cell-form",
    "data-row-form": "",
    action: toRowPath(readTable().path, rowId),
  });
  form.noValidate = true;
  form.append(
    element("input", { type: "hidden", name: "etag", value: etag }),
    toNode(renderRowField(field)),
  );
  const first = JSON.stringify(readField(form, column, wasNull));
  const store = (step: Step) => {
    const at = findEditCell(editor);
    const input = { state: readField(form, column, wasNull) };
    const isChanged = isAgain || issues.length > 0 || JSON.stringify(input.state) !== first;
    const text = describeField(form, column.name);
    hide(form);
    if (isChanged)
      onSave({
        ...{ rowId, column: column.name, text, input, isAgain },
        from: Promise.resolve(row),
      });
    if (at !== undefined) moveFocus(readPosition(at), step);
  };
  onShow(cell);
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
    if (issues.length > 0 || isAgain) void renewRow(rowId);
    const at = findEditCell(editor);
    if (at !== undefined) moveFocus(readPosition(at), STAY);
  };
  if (issues.length > 0) showIssues(form, editor.isOutdated === true ? issues : [], cancel);
  const control = findControl(form, column.name);
  control?.focus();
  if (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement)
    control.select();
  listen(form, { store, cancel, storeNull: () => enterNull(form, column.name) && store(STAY) });
  return { send: () => store(STAY), form };
}

/** The search for a referenced row, and a link to the current one. */
function toReference(table: string | undefined, state: State): Partial<RowField> {
  const { api, tables, targets } = readTable();
  if (table === undefined) return {};
  const picked = { path: toDataUrl(api, table), finders: targets[table] ?? [] };
  if (typeof state !== "object" || state.text === "") return { picked };
  const path = toRowPath(`${tables}/${encodeURIComponent(table)}`, state.text);
  return { picked, target: { path, label: labels.get(state.text) } };
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
  form.remove();
}

/** Adds errors of the row, such as a concurrent change. The field already shows its own errors. */
function showIssues(form: HTMLFormElement, issues: readonly string[], cancel: () => void): void {
  const parts = issues.length === 0 ? [] : [element("p", { class: "issues" }, issues.join(" "))];
  form.append(element("div", { class: "cell-issues" }, ...parts, makeButton("Undo", cancel)));
}

export function findEditCell({ rowId, column }: CellName): HTMLTableCellElement | undefined {
  const heads = [...(findGrid()?.tHead?.rows[0]?.cells ?? [])];
  const index = heads.findIndex(({ dataset }) => dataset["column"] === column);
  return findRow(rowId)?.cells[index];
}

/** Moves the focus from an edited cell to another of a stored row. */
export function moveFocus({ row, column }: Position, step: Step): void {
  const grid = findGrid();
  if (grid === null || step === undefined) return;
  const last = countGridRows(grid) - 1;
  focusCell(grid, { row: Math.min(row + step.row, last), column: column + step.column });
}
