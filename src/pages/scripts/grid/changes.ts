/**
 * A change of several rows in a dialog: each value before and after, then the result for each row, with Undo. Setting a column,
 * pasting, filling down and deleting share it.
 *
 * @module
 */

import { shortenId } from "../../../kinds/mod.ts";
import { indentJson } from "../../../std/json_text.ts";
import { renderCell } from "../../rows/cells.tsx";
import { type ListedRow, readRow, TEXTS, toLabel } from "../../rows/row.ts";
import { element } from "../dom.ts";
import { toNode } from "../dom_jsx.ts";
import { escapeTurns } from "../forms/inputs.ts";
import { showSaved } from "../save_state.ts";
import { countOf, type Drawer, makeFormButton } from "./drawer.ts";
import { labels, readLabels, readRows, readTable } from "./store.ts";
import { findColumn } from "./values.ts";
import { type Change, deleteRows, type Result, toUndo, writeChanges } from "./write.ts";

export type Wanted = {
  /** Such as `Set note in`. */
  readonly what: string;
  readonly changes: readonly Change[];
  /** Sentences above the preview. */
  readonly notes: readonly string[];
  /** Values that cannot be stored, which the preview leaves out. */
  readonly issues?: readonly string[];
  /** Shows the issues of the value that all rows would get. */
  readonly onInvalid?: (reason: string) => void;
};

const MAX_ISSUES = 20;

/** Shows what changes; its button writes. */
export function showChanges(drawer: Drawer, wanted: Wanted): void {
  const { what, changes, notes, issues = [] } = wanted;
  const names = new Set(changes.flatMap(({ values }) => [...values.keys()]));
  const [only] = names.size === 1 ? names : [];
  const head = only === undefined ? ["Column", "now", "after"] : [`${only} now`, "after"];
  const lines = changes.flatMap((change) =>
    [...change.values].map(([name, json], index) =>
      element(
        "tr",
        {},
        index === 0 ? nameRow(change) : element("td", {}),
        ...(only === undefined ? [element("td", {}, name)] : []),
        ...renderValues(change, name, json),
      ),
    ),
  );
  const shown = issues.slice(0, MAX_ISSUES);
  if (shown.length < issues.length) shown.push(`and ${issues.length - shown.length} more`);
  drawer.show(
    `${what} ${countOf(changes.length)}`,
    [
      ...notes.map((note) => element("p", { class: "quiet" }, note)),
      ...(shown.length === 0 ? [] : [renderIssues(shown)]),
      lines.length === 0
        ? element("p", {}, "No rows change.")
        : renderTable("Rows that change", ["Row", ...head], lines),
    ],
    changes.length === 0
      ? []
      : [
          makeFormButton(
            `Save ${countOf(changes.length)}`,
            "primary",
            () => void save(drawer, wanted),
          ),
        ],
  );
}

export function renderIssues(issues: readonly string[]): HTMLElement {
  const items = issues.map((issue) => element("li", {}, issue));
  return element(
    "div",
    { class: "notice notice-error", role: "alert" },
    element("ul", {}, ...items),
  );
}

function nameRow({ row }: Change): HTMLElement {
  const { path, columns } = readTable();
  const { id } = row.row;
  const name = toLabel({ columns }, row.row) ?? shortenId(id);
  const link = element("a", { href: `${path}/rows/${id}`, title: id }, element("bdi", {}, name));
  return element("th", { scope: "row" }, link);
}

/** The value before and after. */
function renderValues({ row }: Change, name: string, json: string): Node[] {
  const column = findColumn(name);
  if (column === undefined) return [];
  const { tables } = readTable();
  const after = readRow(`{"id":${JSON.stringify(row.row.id)},${JSON.stringify(name)}:${json}}`);
  const cells = [row.row, after].map((one) => toNode(renderCell(column, one, { tables, labels })));
  if (cells[1] instanceof HTMLElement) cells[1].classList.add("now-value");
  return cells;
}

function renderTable(label: string, head: readonly string[], lines: readonly Node[]): HTMLElement {
  const heads = head.map((name) => element("th", { scope: "col" }, name));
  const table = element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...lines),
  );
  return element(
    "div",
    { class: "change-rows", role: "region", "aria-label": label, tabindex: "0" },
    table,
  );
}

/** Marks the buttons as busy while rows are written. */
function showProgress(drawer: Drawer, count: number): (done: number) => void {
  const buttons = [...drawer.form.querySelectorAll<HTMLElement>(".action-buttons button")];
  for (const button of buttons) button.ariaDisabled = "true";
  const line = element("p", { class: "quiet", role: "status" }, `0 of ${countOf(count)} written`);
  drawer.form.prepend(line);
  return (done) => {
    line.textContent = `${done} of ${countOf(count)} written`;
  };
}

async function save(drawer: Drawer, wanted: Wanted): Promise<void> {
  const { changes, onInvalid } = wanted;
  const results = await writeChanges(changes, showProgress(drawer, changes.length));
  const [first] = results;
  const isInvalid = results.every(({ code }) => code === "validation_failed");
  if (isInvalid && onInvalid !== undefined) return onInvalid(first?.reason ?? "");
  showResults(drawer, { verb: "Changed", results, wanted });
}

type Shown = { verb: string; results: readonly Result[]; wanted: Wanted | undefined };

function showResults(drawer: Drawer, { verb, results, wanted }: Shown): void {
  const failed = results.filter(({ reason }) => reason !== undefined);
  const undo = toUndo(results);
  const lines = [...failed, ...results.filter(({ reason }) => reason === undefined)].map(
    ({ change, reason }) =>
      element(
        "tr",
        reason === undefined ? {} : { class: "is-failed" },
        nameRow(change),
        element("td", {}, reason === undefined ? "Saved" : `Not saved: ${reason}`),
      ),
  );
  const restore = async () => {
    const restored = await writeChanges(undo, showProgress(drawer, undo.length));
    showResults(drawer, { verb: "Restored", results: restored, wanted: undefined });
  };
  const title = `${verb} ${results.length - failed.length} of ${results.length} rows`;
  const hint = `${countOf(failed.length)} not saved. The preview shows their current state before you try again.`;
  drawer.show(
    title,
    [
      ...(failed.length > 0 ? [element("p", {}, hint)] : []),
      renderTable("Results", ["Row", "Result"], lines),
    ],
    wanted === undefined
      ? []
      : [
          ...(failed.length > 0
            ? [
                makeFormButton(
                  `Review ${countOf(failed.length)}`,
                  "primary",
                  () => void review(drawer, wanted, failed),
                ),
              ]
            : []),
          ...(undo.length > 0 ? [makeFormButton("Undo", "quiet", () => void restore())] : []),
        ],
  );
}

/** The same values for the current rows. */
async function review(drawer: Drawer, wanted: Wanted, failed: readonly Result[]): Promise<void> {
  const values = new Map(failed.map(({ change }) => [change.row.row.id, change.values]));
  const rows = await readRows([...values.keys()], true);
  await readLabels(rows);
  const changes = rows.map((row) => ({ row, values: values.get(row.row.id) ?? new Map() }));
  const missing = values.size - rows.length;
  const notes = missing > 0 ? [`${countOf(missing)} not found.`] : [];
  showChanges(drawer, { ...wanted, changes, notes });
}

const VISIBLE_COLUMNS = 3;

/** Shows the rows; the button deletes them. */
export function showDeletion(drawer: Drawer, rows: readonly ListedRow[], onDone: () => void): void {
  const { columns, tables, hasHistory } = readTable();
  const some = columns.slice(0, VISIBLE_COLUMNS);
  const lines = rows.map((row) =>
    element(
      "tr",
      {},
      nameRow({ row, values: new Map() }),
      ...some.map((column) => toNode(renderCell(column, row.row, { tables, labels }))),
    ),
  );
  const json = escapeTurns(indentJson(`[${rows.map(({ row }) => toJson(row[TEXTS]))}]`));
  const copy = element("button", {
    ...{ type: "button", class: "button button-quiet button-small", hidden: "" },
    "data-copy": "rows-json",
  });
  copy.append("Copy the rows as JSON");
  const text = element(
    "details",
    {},
    element("summary", {}, "Copy the rows as JSON first"),
    element("pre", { class: "snippet", id: "rows-json", tabindex: "0" }, json),
    copy,
  );
  const undo = hasHistory
    ? "The history can restore the rows, but none of the rows that they take along."
    : "This cannot be undone.";
  const warning = `${undo} Rows that reference them with “on delete cascade” are deleted too; with “on delete set null”, their reference is cleared.`;
  const run = async () => {
    showProgress(drawer, rows.length);
    const results = await deleteRows(rows);
    if (results.some(({ reason }) => reason !== undefined))
      return showResults(drawer, { verb: "Deleted", results, wanted: undefined });
    drawer.close();
    showSaved("Deleted");
    onDone();
  };
  drawer.show(
    `Delete ${countOf(rows.length)}`,
    [
      element("p", {}, warning),
      text,
      renderTable("Rows to delete", ["Row", ...some.map(({ name }) => name)], lines),
    ],
    [makeFormButton(`Delete ${countOf(rows.length)}`, "danger", () => void run())],
  );
}

function toJson(values: ReadonlyMap<string, string>): string {
  return `{${[...values].map(([name, json]) => `${JSON.stringify(name)}:${json}`)}}`;
}
