/** The checked rows of all pages: sets one of their columns, deletes them or copies them, with each row before and after. @module */

import { makeRowsWriter } from "../../../rows/mod.ts";
import { inDigits } from "../../../std/count.ts";
import { indentJson } from "../../../std/json_text.ts";
import { renderRowField } from "../../rows/fields.tsx";
import { type ListedRow, TEXTS, textOf } from "../../rows/row.ts";
import type { State } from "../../rows/state.ts";
import { copyText } from "../copy.ts";
import { toDataUrl } from "../data.ts";
import { announce, element, makeButton } from "../dom.ts";
import { toNode } from "../dom_jsx.ts";
import { addFieldHelp } from "../forms/row_dialog.ts";
import { isInputMethodKey } from "../input.ts";
import { showFailure, showSaved } from "../save_state.ts";
import { renderIssues, showChanges, showDeletion } from "./changes.ts";
import { countOf, makeFormButton, openDrawer } from "./drawer.ts";
import { readField } from "./fields.ts";
import { readLabels, readRows, readTable } from "./store.ts";
import { findColumn, toValue } from "./values.ts";
import { MAX_CHANGED } from "./write.ts";

const ROW = "input.select[name=row]";
const ALL = "[data-select-all]";
/** The input of the grid while a cell is selected, but not edited. */
const EMPTY_INPUT = ".grid-input:not(.is-typing)";

const selected = new Set<string>();

/** The line of actions on the checked rows. */
function makeForm(): HTMLFormElement {
  const select = element("select", { name: "column" }, new Option("a column", ""));
  for (const { name } of readTable().columns) select.append(new Option(name, name));
  const form = element(
    "form",
    { class: "selection", id: "selection", "aria-label": "Selected rows" },
    element("p", { "data-selected": "" }),
    element("label", {}, "Set ", select),
    element("button", { class: "button button-quiet button-small", type: "submit" }, "Set"),
  );
  return form;
}

function findForm(): HTMLFormElement | null {
  return document.querySelector("form.selection");
}

export function startSelection(renew: () => void): HTMLFormElement {
  const form = makeForm();
  form.append(
    makeButton("Delete", () => void openDeletion(renew), {
      class: "button button-danger button-small",
    }),
    ...(["json", "csv"] as const).map((format) =>
      makeButton(`Copy as ${format.toUpperCase()}`, () => void copyRows(format)),
    ),
    makeButton("Clear", () => selectRows([])),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const select = form.querySelector<HTMLSelectElement>("[name=column]");
    if (select?.value === "") select.focus();
    else openSet(select?.value ?? "", renew);
  });
  document.addEventListener("click", (event) => {
    const { target } = event;
    if (!(target instanceof HTMLInputElement) || !target.matches(ROW)) return;
    if (event.shiftKey) checkBetween(target);
    last = toId(target);
  });
  document.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    if (target.matches(ROW)) check(toId(target), target.checked);
    else if (target.matches(ALL)) for (const box of findBoxes()) check(toId(box), target.checked);
    else return;
    showSelection();
  });
  document.addEventListener("keydown", (event) => {
    const { target, shiftKey, key } = event;
    if (!(target instanceof HTMLTextAreaElement) || !target.matches(EMPTY_INPUT)) return;
    if (!shiftKey || key !== " " || isInputMethodKey(event)) return;
    const box = target.closest("tr")?.querySelector<HTMLInputElement>(ROW);
    if (box === null || box === undefined) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    check(toId(box), !box.checked);
    showSelection();
    announce(describe());
  });
  return form;
}

/** A button that selects these rows, on any page, up to {@linkcode MAX_CHANGED}. */
export function makeSelectAll(count: number, find: (max: number) => Promise<readonly string[]>) {
  const name =
    count > MAX_CHANGED ? `Select the first ${MAX_CHANGED}` : `Select all ${inDigits(count)}`;
  return makeButton(name, () => {
    find(MAX_CHANGED).then(
      (ids) => selectRows(ids.slice(0, MAX_CHANGED)),
      (error: unknown) => showFailure(`Not selected: ${toReason(error)}`),
    );
  });
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : `${error}`;
}

export function markSelected(table: HTMLTableElement): void {
  for (const box of table.querySelectorAll<HTMLInputElement>(ROW))
    box.checked = selected.has(toId(box));
  const all = table.querySelector<HTMLInputElement>(ALL);
  if (all === null) return;
  all.hidden = false;
  const boxes = [...table.querySelectorAll<HTMLInputElement>(ROW)];
  const count = boxes.filter(({ checked }) => checked).length;
  all.checked = count > 0 && count === boxes.length;
  all.indeterminate = count > 0 && count < boxes.length;
}

function findBoxes(): NodeListOf<HTMLInputElement> {
  return document.querySelectorAll(ROW);
}

/** The row of a box, whose id the page has once: 50 more of them are a quarter of a kilobyte. */
function toId(box: HTMLInputElement): string {
  return box.closest<HTMLElement>("tr")?.dataset["rowId"] ?? "";
}

function check(id: string, isChecked: boolean): void {
  if (isChecked) selected.add(id);
  else selected.delete(id);
}

/** The row whose box was pressed last. */
let last: string | undefined;

/** Checks the rows from the last pressed box to this one, or unchecks them as this one. */
function checkBetween(box: HTMLInputElement): void {
  const boxes = [...findBoxes()];
  const from = boxes.findIndex((other) => toId(other) === last);
  if (from === -1) return;
  const to = boxes.indexOf(box);
  for (const other of boxes.slice(Math.min(from, to), Math.max(from, to) + 1))
    check(toId(other), box.checked);
  showSelection();
}

function selectRows(ids: readonly string[]): void {
  selected.clear();
  for (const id of ids) selected.add(id);
  showSelection();
  announce(describe());
}

function describe(): string {
  return selected.size === 0 ? "No rows selected" : `${countOf(selected.size)} selected`;
}

export function showSelection(): void {
  const form = findForm();
  const table = document.querySelector<HTMLTableElement>("[data-rows] table[data-grid]");
  if (table !== null) markSelected(table);
  if (form === null) return;
  form.hidden = selected.size === 0;
  const text = form.querySelector("[data-selected]");
  if (text !== null) text.textContent = describe();
}

/** The checked rows as they are now; explains a failure. */
async function readSelected(isFresh: boolean): Promise<ListedRow[] | undefined> {
  if (selected.size > MAX_CHANGED) {
    showFailure(`Select at most ${MAX_CHANGED} rows`);
    return undefined;
  }
  try {
    const rows = await readRows([...selected], isFresh);
    await readLabels(rows);
    return rows;
  } catch (error) {
    showFailure(`Not loaded: ${toReason(error)}`);
    return undefined;
  }
}

async function openDeletion(renew: () => void): Promise<void> {
  const rows = await readSelected(true);
  if (rows !== undefined) showDeletion(openDrawer(renew), rows, () => selectRows([]));
}

/** The form that enters the new value of a column. */
function openSet(name: string, renew: () => void): void {
  const column = findColumn(name);
  if (column === undefined) return;
  const drawer = openDrawer(renew);
  const ask = (state: State, issues: readonly string[]) => {
    const { api, targets } = readTable();
    const { table } = column;
    const picked =
      table === undefined
        ? undefined
        : { path: toDataUrl(api, table), finders: targets[table] ?? [] };
    drawer.show(
      `Set ${name}`,
      [
        ...(issues.length > 0 ? [renderIssues(["Nothing was changed."])] : []),
        element("p", { "data-change-count": "" }, describe()),
        toNode(renderRowField({ column, state, issues, picked })),
      ],
      [makeFormButton("Preview", "primary", () => void preview())],
    );
    addFieldHelp(drawer.form);
  };
  const preview = async () => {
    const state = readField(drawer.form, column, true);
    const value = await toValue(column, { state });
    if ("issue" in value) return ask(state, [value.issue]);
    const rows = await readSelected(true);
    if (rows === undefined) return;
    const changed = rows.filter(({ row }) => textOf(row, name) !== value.json);
    const same = rows.length - changed.length;
    const missing = selected.size - rows.length;
    showChanges(drawer, {
      what: `Set ${name} in`,
      changes: changed.map((row) => ({ row, values: new Map([[name, value.json]]) })),
      notes: [
        ...(same > 0 ? [`${countOf(same)} already set to this value.`] : []),
        ...(missing > 0 ? [`${countOf(missing)} not found.`] : []),
      ],
      onInvalid: (reason) => ask(state, [reason]),
    });
  };
  ask(column.required ? { text: "" } : "null", []);
}

/** Copies the rows with all columns. */
async function copyRows(format: "json" | "csv"): Promise<void> {
  const rows = await readSelected(false);
  if (rows === undefined) return;
  const text = toText(rows, format);
  if (await copyText(text)) showSaved(`Copied ${countOf(rows.length)}`);
  else showFailure("Not copied: the browser does not allow it.");
}

/** Rows as a file that imports to the same values. */
export function toText(rows: readonly ListedRow[], format: "json" | "csv", isFile = false): string {
  if (format === "json") return `${indentJson(`[${rows.map(({ text }) => text).join(",")}]`)}\n`;
  const { start, toText: toLine } = makeRowsWriter(readTable(), "csv", { isInert: true });
  return (
    (isFile ? start : start.replace("\ufeff", "")) +
    rows.map(({ row }) => toLine(row[TEXTS])).join("")
  );
}
