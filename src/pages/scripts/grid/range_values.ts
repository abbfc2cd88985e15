/** The values of a range: as a spreadsheet gets them, and as they are pasted back. @module */
import type { NamedColumn } from "../../../schema/mod.ts";
import type { ListedRow } from "../../rows/row.ts";
import { toState } from "../../rows/state.ts";
import { columnOf } from "./cells.ts";
import { labels } from "./store.ts";
import { findColumn } from "./values.ts";

export function describeSize(rows: number, columns: number): string {
  return rows === 1 && columns === 1 ? "1 cell" : `${rows} × ${columns} cells`;
}

/** The text of a value in a spreadsheet: of a reference its label, of null nothing. */
export function toShown(cell: HTMLTableCellElement, { row }: ListedRow): string {
  const column = findColumn(columnOf(cell) ?? "");
  const state = column === undefined ? "null" : toState(column, row);
  if (typeof state === "string") return "";
  return column?.kind === "ref" ? (labels.get(state.text) ?? state.text) : state.text;
}

/** A copied reference is pasted by its text: the id could be of another table. */
export function isSameKind({ kind, required }: NamedColumn, json: string): boolean {
  if (json === "null") return !required;
  return kind === "string" && json.startsWith('"');
}

/** The references among new values, whose labels the preview shows. */
export function readIds(values: ReadonlyMap<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    [...values].map(([name, json]) => [name, json.startsWith('"') ? JSON.parse(json) : null]),
  );
}
