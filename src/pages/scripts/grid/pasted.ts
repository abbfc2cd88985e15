/**
 * New values of many cells in the preview of changes. A pasted table continues below the page, in the rows of the next pages, and
 * then in new rows. A script of its own: it gets what has a state on the page.
 *
 * @module
 */

import { REQUIRED } from "../../../rows/mod.ts";
import type { NamedColumn } from "../../../schema/mod.ts";
import type { ListedRow } from "../../rows/row.ts";
import type { Position } from "./cells.ts";
import { makePasteReader } from "./paste_reader.ts";
import type { Value } from "./values.ts";
import type { Change } from "./write.ts";

/** The functions of the page. */
export type Tools = Pick<typeof import("../../rows/row.ts"), "textOf"> &
  Pick<typeof import("./store.ts"), "keep" | "readLabels" | "readTable"> &
  Pick<typeof import("./values.ts"), "isSameKind" | "readIds" | "toValue"> &
  Pick<typeof import("./changes.ts"), "showChanges"> &
  Pick<typeof import("./drawer.ts"), "countOf" | "openDrawer"> &
  Pick<typeof import("./write.ts"), "MAX_CHANGED">;

/** A row that gets values in some columns; `undefined`: a new one. */
export type Target = {
  readonly row: ListedRow | undefined;
  readonly columns: readonly NamedColumn[];
};

/** What the page does for a pasted table. */
export type PastePage = {
  readonly renew: () => void;
  /** The rows below those on the page, max `max`; fewer if the table ends. A text is the reason why they cannot be read. */
  readonly readNext: (max: number) => Promise<readonly ListedRow[] | string>;
};

type Pasted = {
  readonly lines: readonly (readonly string[])[];
  /** The values as JSON, if they were copied on this page. */
  readonly exact: readonly (readonly string[])[] | undefined;
  /** Whether the only value fills the range. */
  readonly isFilled: boolean;
  readonly columns: readonly NamedColumn[];
};

/** Previews a pasted table. `stored` are the rows on the page that it covers. */
export async function showPasted(
  tools: Tools,
  { lines, exact, isFilled, columns }: Pasted,
  { stored, renew, readNext }: PastePage & { readonly stored: readonly Target[] },
): Promise<void> {
  const { keep, readTable, isSameKind, textOf, toValue, countOf, MAX_CHANGED } = tools;
  const read = makePasteReader();
  const find = <Part>(of: readonly (readonly Part[])[], { row, column }: Position) =>
    isFilled ? of[0]?.[0] : of[row]?.[column];
  const notes: string[] = [];
  const count = Math.min(lines.length, MAX_CHANGED);
  const leftOut = (rows: number, why: string) => {
    if (rows > 0) notes.push(`${countOf(rows)} of the clipboard left out: ${why}.`);
  };
  leftOut(lines.length - count, `paste max ${MAX_CHANGED} rows, or import them`);
  const below = isFilled ? 0 : Math.max(count - stored.length, 0);
  const next = below === 0 ? [] : await readNext(below);
  const targets = [...stored.slice(0, isFilled ? undefined : count)];
  if (typeof next === "string") leftOut(below, next);
  else {
    keep(next);
    targets.push(...next.map((row) => ({ row, columns })));
    const missing = listMissing(readTable().columns, columns);
    const added = below - next.length;
    if (missing.length > 0) leftOut(added, `a new row needs ${missing.join(", ")}`);
    else for (let row = 0; row < added; row++) targets.push({ row: undefined, columns });
  }
  await showNewValues(tools, "Paste into", {
    ...{ targets, renew, notes },
    toNew: async (row, column, place) => {
      const json = exact && find(exact, place);
      const value = find(lines, place) ?? (row === undefined ? "" : undefined);
      if (value === undefined) return { json: row ? textOf(row.row, column.name) : "null" };
      if (json !== undefined && isSameKind(column, json)) return { json };
      if (value === "" && (row === undefined || !column.required)) return { json: "null" };
      const pasted = { text: value, isPasted: true };
      return read(column, value, place.row + 1) ?? toValue(column, pasted, row?.row);
    },
  });
}

/** The columns without which no row can be created. */
function listMissing(all: readonly NamedColumn[], columns: readonly NamedColumn[]): string[] {
  const names = columns.map(({ name }) => name);
  return all
    .filter((column) => isAsked(column) && !names.includes(column.name))
    .map(({ name }) => name);
}

/** Whether a new row needs a value. */
function isAsked(column: NamedColumn): boolean {
  return column.required && column.default === undefined;
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
  { readLabels, readIds, textOf, showChanges, openDrawer }: Tools,
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
