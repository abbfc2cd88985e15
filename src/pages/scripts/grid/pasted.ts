/**
 * New values of many cells in the preview of changes. A pasted table continues below the page, in the rows of the next pages, and
 * then in new rows.
 *
 * @module
 */

import { REQUIRED } from "../../../rows/mod.ts";
import type { NamedColumn } from "../../../schema/mod.ts";
import { type ListedRow, textOf } from "../../rows/row.ts";
import { SearchError } from "../search/pages.ts";
import type { Position } from "./cells.ts";
import { showChanges } from "./changes.ts";
import { countOf, openDrawer } from "./drawer.ts";
import { keep, readLabels, readTable } from "./store.ts";
import { isSameKind, readIds, toValue, type Value } from "./values.ts";
import { type Change, MAX_CHANGED } from "./write.ts";

/** A row that gets values in some columns; `undefined`: a new one. */
export type Target = {
  readonly row: ListedRow | undefined;
  readonly columns: readonly NamedColumn[];
};

/** What the page does for a pasted table. */
export type PastePage = {
  readonly renew: () => void;
  /** The rows below those on the page, max `max`; fewer if the table ends. @throws {SearchError} a request failed */
  readonly readNext: (max: number) => Promise<readonly ListedRow[]>;
};

type Pasted = {
  readonly lines: readonly (readonly string[])[];
  /** The values as JSON, if they were copied on this page. */
  readonly exact: readonly (readonly string[])[] | undefined;
  /** Whether the only value fills the range. */
  readonly isFilled: boolean;
  readonly columns: readonly NamedColumn[];
};

const NOT_LOADED = {
  issue: "Cannot read pasted values: check the connection, and reload the page",
};

/** Previews a pasted table. `stored` are the rows on the page that it covers. */
export async function showPasted(
  { lines, exact, isFilled, columns }: Pasted,
  { stored, renew, readNext }: PastePage & { readonly stored: readonly Target[] },
): Promise<void> {
  const loading = loadReader();
  const find = <Part>(of: readonly (readonly Part[])[], { row, column }: Position) =>
    isFilled ? of[0]?.[0] : of[row]?.[column];
  const notes: string[] = [];
  const count = Math.min(lines.length, MAX_CHANGED);
  const leftOut = (rows: number, why: string) => {
    if (rows > 0) notes.push(`${countOf(rows)} of the clipboard left out: ${why}.`);
  };
  leftOut(lines.length - count, `paste max ${MAX_CHANGED} rows, or import them`);
  const below = isFilled ? 0 : Math.max(count - stored.length, 0);
  const next = below === 0 ? [] : await readNext(below).catch(toMessage);
  const targets = [...stored.slice(0, isFilled ? undefined : count)];
  if (typeof next === "string") leftOut(below, next);
  else {
    keep(next);
    targets.push(...next.map((row) => ({ row, columns })));
    const missing = listMissing(columns);
    const added = below - next.length;
    if (missing.length > 0) leftOut(added, `a new row needs ${missing.join(", ")}`);
    else for (let row = 0; row < added; row++) targets.push({ row: undefined, columns });
  }
  await showNewValues("Paste into", {
    ...{ targets, renew, notes },
    toNew: async (row, column, place) => {
      const json = exact && find(exact, place);
      const value = find(lines, place) ?? (row === undefined ? "" : undefined);
      if (value === undefined) return { json: row ? textOf(row.row, column.name) : "null" };
      if (json !== undefined && isSameKind(column, json)) return { json };
      if (value === "" && (row === undefined || !column.required)) return { json: "null" };
      const read = await loading;
      if (read === undefined) return NOT_LOADED;
      const pasted = { text: value, isPasted: true };
      return read(column, value, place.row + 1) ?? toValue(column, pasted, row?.row);
    },
  });
}

function toMessage(error: unknown): string {
  if (error instanceof SearchError) return error.message;
  throw error;
}

/** The columns without which no row can be created. */
function listMissing(columns: readonly NamedColumn[]): string[] {
  const names = columns.map(({ name }) => name);
  return readTable()
    .columns.filter((column) => isAsked(column) && !names.includes(column.name))
    .map(({ name }) => name);
}

/** Whether a new row needs a value. */
function isAsked(column: NamedColumn): boolean {
  return column.required && column.default === undefined;
}

/** The scripts of a page have the same digest. */
async function loadReader() {
  const address = import.meta.url.replace(/\/\w+\.(?=[0-9a-f]+\.js$)/, "/paste.");
  try {
    const { makePasteReader }: typeof import("../paste.ts") = await import(address);
    return makePasteReader();
  } catch {
    return undefined;
  }
}

type NewValues = {
  readonly targets: readonly Target[];
  /** The value of a cell; without a row, of a new one. */
  readonly toNew: (
    row: ListedRow | undefined,
    column: NamedColumn,
    place: Position,
  ) => Value | Promise<Value>;
  readonly renew: () => void;
  readonly notes?: readonly string[];
};

/** Previews new values. A new row with an issue is left out, and so is one without values. */
export async function showNewValues(
  what: string,
  { targets, toNew, renew, notes = [] }: NewValues,
): Promise<void> {
  const changes: Change[] = [];
  const issues: string[] = [];
  for (const [index, { row, columns }] of targets.entries()) {
    const values = new Map<string, string>();
    const found: string[] = [];
    for (const [place, column] of columns.entries()) {
      const value = await toNew(row, column, { row: index, column: place });
      if ("issue" in value) found.push(`Row ${index + 1}, ${column.name}: ${value.issue}`);
      else if (row === undefined || value.json !== textOf(row.row, column.name))
        values.set(column.name, value.json);
    }
    const isBlank = [...values.values()].every((json) => json === "null") && found.length === 0;
    if (row === undefined && isBlank) continue;
    if (row === undefined) found.push(...completeRow(values, columns, index));
    issues.push(...found);
    if (row !== undefined && values.size > 0) changes.push({ row, values });
    if (row === undefined && found.length === 0) changes.push({ row, values });
  }
  await readLabels(
    changes.map(({ row, values }) => ({ row: { ...row?.row, ...readIds(values) } })),
  );
  showChanges(openDrawer(renew), { what, changes, notes, issues });
}

/** Leaves nulls of a new row to the defaults, and returns the issues of those that it cannot have. */
function completeRow(
  values: Map<string, string>,
  columns: readonly NamedColumn[],
  index: number,
): string[] {
  const nulls = columns.filter(({ name }) => values.get(name) === "null");
  for (const { name, required, default: initial } of nulls)
    if (required || initial === undefined) values.delete(name);
  return nulls.filter(isAsked).map(({ name }) => `Row ${index + 1}, ${name}: ${REQUIRED}`);
}
