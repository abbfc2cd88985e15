/**
 * A change of several rows in a dialog: each value before and after, then the result for each row, with Undo. Setting a column,
 * pasting, filling down and deleting share it.
 *
 * @module
 */

import { shortenId } from "../../../kinds/mod.ts";
import { indentJson } from "../../../std/json_text.ts";
import { renderCell } from "../../rows/cells.tsx";
import { type ListedRow, type Row, readRow, TEXTS, toLabel } from "../../rows/row.ts";
import { element } from "../dom.ts";
import { toNode } from "../dom_jsx.ts";
import { escapeTurns } from "../forms/inputs.ts";
import { showSaved } from "../save_state.ts";
import { countOf, type Drawer, makeFormButton } from "./drawer.ts";
import { labels, readLabels, readRows, readTable } from "./store.ts";
import { findColumn, readIds } from "./values.ts";
import { type Change, deleteRows, type Result, undoChanges, writeChanges } from "./write.ts";

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

/** Such as `15 rows and 25 new rows`. */
function describeChanges(changes: readonly Change[]): string {
  const fresh = changes.filter(({ row }) => row === undefined).length;
  const stored = changes.length - fresh;
  const parts = stored > 0 || fresh === 0 ? [countOf(stored)] : [];
  return [...parts, ...(fresh > 0 ? [countOf(fresh, "new row")] : [])].join(" and ");
}

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
        index === 0 ? nameRow(change, change.row) : element("td", {}),
        ...(only === undefined ? [element("td", {}, name)] : []),
        ...renderValues(change, name, json),
      ),
    ),
  );
  const shown = issues.slice(0, MAX_ISSUES);
  if (shown.length < issues.length) shown.push(`and ${issues.length - shown.length} more`);
  drawer.show(
    `${what} ${describeChanges(changes)}`,
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
            `Save ${describeChanges(changes)}`,
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

/** Links to a stored row. */
function nameRow({ values }: Change, listed: ListedRow | undefined): HTMLElement {
  const { path, columns } = readTable();
  const row = listed?.row ?? readIds(values);
  const name = toLabel({ columns }, row);
  if (listed === undefined)
    return element("th", { scope: "row" }, "New: ", element("bdi", {}, name ?? "row"));
  const { id } = listed.row;
  const text = element("bdi", {}, name ?? shortenId(id));
  const link = element("a", { href: `${path}/rows/${id}`, title: id }, text);
  return element("th", { scope: "row" }, link);
}

/** The value before and after. */
function renderValues({ row }: Change, name: string, json: string): Node[] {
  const column = findColumn(name);
  if (column === undefined) return [];
  const { tables } = readTable();
  const show = (of: Row) => toNode(renderCell(column, of, { tables, labels }));
  const after = show(readRow(`{"id":"",${JSON.stringify(name)}:${json}}`));
  if (after instanceof HTMLElement) after.classList.add("now-value");
  return [row === undefined ? element("td", { class: "quiet" }, "new") : show(row.row), after];
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
  showResults(drawer, { verbs: ["Changed", "Added"], results, wanted });
}

type Shown = {
  /** What happened to stored rows, and to new ones. */
  readonly verbs: readonly [string, string];
  readonly results: readonly Result[];
  readonly wanted: Wanted | undefined;
};

function verbOf({ change }: Result, [ofStored, ofNew]: Shown["verbs"]): string {
  return change.row === undefined ? ofNew : ofStored;
}

/** Such as `Changed 15 of 15 rows, added 24 of 25 rows`. */
function describeResults({ verbs, results }: Shown): string {
  return [...new Set(verbs)]
    .flatMap((verb) => {
      const of = results.filter((result) => verbOf(result, verbs) === verb);
      const done = of.filter(({ reason }) => reason === undefined).length;
      return of.length === 0 ? [] : [`${verb} ${done} of ${countOf(of.length)}`];
    })
    .map((part, index) => (index === 0 ? part : part.toLowerCase()))
    .join(", ");
}

function showResults(drawer: Drawer, shown: Shown): void {
  const { verbs, results, wanted } = shown;
  const failed = results.filter(({ reason }) => reason !== undefined);
  const isWritten = results.some(({ row }) => row !== undefined);
  const lines = [...failed, ...results.filter(({ reason }) => reason === undefined)].map(
    (result) => {
      const { change, row, reason } = result;
      const text = reason === undefined ? verbOf(result, verbs) : `Not saved: ${reason}`;
      return element(
        "tr",
        reason === undefined ? {} : { class: "is-failed" },
        nameRow(change, change.row ?? row),
        element("td", {}, text),
      );
    },
  );
  const restore = async () => {
    const undone = await undoChanges(results, showProgress(drawer, results.length));
    showResults(drawer, { verbs: ["Restored", "Removed"], results: undone, wanted: undefined });
  };
  const hint = `${countOf(failed.length)} not saved. The preview shows their current state before you try again.`;
  drawer.show(
    describeResults(shown),
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
          ...(isWritten ? [makeFormButton("Undo", "quiet", () => void restore())] : []),
        ],
  );
}

/** The same values for the current rows. */
async function review(drawer: Drawer, wanted: Wanted, failed: readonly Result[]): Promise<void> {
  const fresh = failed.map(({ change }) => change).filter(({ row }) => row === undefined);
  const values = new Map(
    failed.flatMap(({ change: { row, values: of } }) => (row ? [[row.row.id, of]] : [])),
  );
  const rows = await readRows([...values.keys()], true);
  await readLabels(rows);
  const changes = rows.map((row) => ({ row, values: values.get(row.row.id) ?? new Map() }));
  const missing = values.size - rows.length;
  const notes = missing > 0 ? [`${countOf(missing)} not found.`] : [];
  showChanges(drawer, { ...wanted, changes: [...changes, ...fresh], notes });
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
      nameRow({ row, values: new Map() }, row),
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
      return showResults(drawer, { verbs: ["Deleted", "Deleted"], results, wanted: undefined });
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
