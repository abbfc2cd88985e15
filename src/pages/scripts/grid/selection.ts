/**
 * The checked rows of all pages: sets one of their columns, deletes them or copies them. The server's forms make the changes,
 * and show each row before and after.
 *
 * @module
 */

import { indentJson, splitList } from "../../../std/json_text.ts";
import { copyText } from "../copy.ts";
import { announce, makeButton } from "../dom.ts";
import { openFormDialog } from "../forms/row_dialog.ts";
import { explainSilence, showFailure, showSaved } from "../save_state.ts";
import { isInputMethodKey } from "./input.ts";

const ROW = "input.select[name=row]";
const ALL = "[data-select-all]";
/** The input of the grid while a cell is selected, but not edited. */
const EMPTY_INPUT = ".grid-input:not(.is-typing)";
/** Max rows of one change, and of one address. */
const MAX_CHANGED = 500;
const MAX_ADDRESS_ROWS = 100;

const selected = new Set<string>();

function findForm(): HTMLFormElement | null {
  return document.querySelector("form.selection");
}

export function startSelection(renew: () => void): void {
  const form = findForm();
  if (form === null) return;
  const copies = (["json", "csv"] as const).map((format) =>
    makeButton(`Copy as ${format.toUpperCase()}`, () => void copyRows(form, format)),
  );
  form.append(
    ...copies,
    makeButton("Clear", () => selectRows([])),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    openChange(form, { isDeletion: event.submitter?.getAttribute("name") === "delete", renew });
  });
  document.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    if (target.matches(ROW)) check(target.value, target.checked);
    else if (target.matches(ALL)) for (const { value } of findBoxes()) check(value, target.checked);
    else return;
    show();
  });
  document.addEventListener("keydown", (event) => {
    const { target, shiftKey, key } = event;
    if (!(target instanceof HTMLTextAreaElement) || !target.matches(EMPTY_INPUT)) return;
    if (!shiftKey || key !== " " || isInputMethodKey(event)) return;
    const box = target.closest("tr")?.querySelector<HTMLInputElement>(ROW);
    if (box === null || box === undefined) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    check(box.value, !box.checked);
    show();
    announce(describe());
  });
  show();
}

/** A button that selects these rows, on any page, up to {@linkcode MAX_CHANGED}. */
export function makeSelectAll(ids: readonly string[]): HTMLButtonElement {
  const some = ids.slice(0, MAX_CHANGED);
  const name =
    some.length < ids.length ? `Select the first ${some.length}` : `Select all ${ids.length}`;
  return makeButton(name, () => selectRows(some));
}

export function markSelected(table: HTMLTableElement): void {
  for (const box of table.querySelectorAll<HTMLInputElement>(ROW))
    box.checked = selected.has(box.value);
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

function check(id: string, isChecked: boolean): void {
  if (isChecked) selected.add(id);
  else selected.delete(id);
}

function selectRows(ids: readonly string[]): void {
  selected.clear();
  for (const id of ids) selected.add(id);
  show();
  announce(describe());
}

function describe(): string {
  if (selected.size === 0) return "No rows selected";
  return selected.size === 1 ? "1 row selected" : `${selected.size} rows selected`;
}

function show(): void {
  const form = findForm();
  const table = document.querySelector<HTMLTableElement>("[data-rows] table[data-grid]");
  if (table !== null) markSelected(table);
  if (form === null) return;
  form.hidden = selected.size === 0;
  const text = form.querySelector("[data-selected]");
  if (text !== null) text.textContent = describe();
}

type ChangeOptions = { isDeletion: boolean; renew: () => void };

function openChange(form: HTMLFormElement, { isDeletion, renew }: ChangeOptions): void {
  const column = form.querySelector<HTMLSelectElement>("[name=column]")?.value ?? "";
  if (!isDeletion && column === "") {
    form.querySelector<HTMLSelectElement>("[name=column]")?.focus();
    return;
  }
  const query = new URLSearchParams(isDeletion ? { delete: "yes" } : { column });
  const ids = [...selected];
  // With the rows in its address, the page of a deletion begins with the preview.
  if (isDeletion && ids.length <= MAX_ADDRESS_ROWS) for (const id of ids) query.append("row", id);
  void openFormDialog({
    url: `${form.getAttribute("action")}?${query}`,
    done: "Deleted",
    prepare: (change) => {
      const rows = change.querySelector<HTMLInputElement>("input[name=rows]");
      if (rows !== null && rows.value === "") rows.value = ids.join(" ");
      const count = change.querySelector("[data-change-count]");
      if (count !== null) count.textContent = describe();
    },
    onDone: () => selectRows([]),
    onClose: renew,
  });
}

/** Copies the current rows from the server, with all columns. */
async function copyRows(form: HTMLFormElement, format: "json" | "csv"): Promise<void> {
  const ids = [...selected];
  const path = (form.getAttribute("action") ?? "").replace(/change$/, `export/${format}`);
  const texts: string[] = [];
  for (let start = 0; start < ids.length; start += MAX_ADDRESS_ROWS) {
    const rows = ids.slice(start, start + MAX_ADDRESS_ROWS).map((id) => ["row", id]);
    const response = await fetch(`${path}?${new URLSearchParams(rows)}`).catch(() => undefined);
    const isFile = response?.headers.has("content-disposition") === true;
    if (response?.ok !== true || !isFile)
      return showNotCopied(response === undefined ? explainSilence() : "the server sent no rows.");
    texts.push(await response.text());
  }
  const text = format === "json" ? joinJson(texts) : joinCsv(texts);
  if (await copyText(text)) showSaved(`Copied ${describe().replace(" selected", "")}`);
  else showNotCopied("the browser does not allow it.");
}

function showNotCopied(reason: string): void {
  showFailure(`Not copied: ${reason}`);
}

function joinJson(texts: readonly string[]): string {
  return `${indentJson(`[${texts.flatMap(splitList).join(",")}]`)}\n`;
}

/** Removes the line of column names from all texts but the first. */
function joinCsv(texts: readonly string[]): string {
  return texts
    .map((text, position) => (position === 0 ? text : text.slice(text.indexOf("\n") + 1)))
    .join("");
}
