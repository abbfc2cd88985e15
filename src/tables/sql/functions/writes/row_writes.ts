/** How a row changes: what an update assigns, and whether it changes a value. @module */

import { quoteName } from "../../../../db/mod.ts";
import type { ColumnSet } from "../../../catalog/mod.ts";
import { isGiven, type SetColumn } from "../function_terms.ts";

/** The sent value of a column, as an expression. */
type ToSent = (column: SetColumn) => string;

/** The columns of an update; `isChanged`: whether those that change with the others do. */
export function assignments(table: ColumnSet, toSent: ToSent, isChanged: string): string[] {
  return table.columns.map((column) => {
    const time = isUpdated(column) ? ` when ${isChanged} then "$now"` : "";
    return `${quoteName(column.name)} = ${nextValue(column, toSent, time)}`;
  });
}

/** A column's value after the update; `otherwise` are further branches for a column that the body omits. */
function nextValue(column: SetColumn, toSent: ToSent, otherwise = ""): string {
  return `case when ${isGiven(column)} then ${toSent(column)}${otherwise} else "$t".${quoteName(column.name)} end`;
}

export function setsTime({ columns }: ColumnSet): boolean {
  return columns.some(isUpdated);
}

function isUpdated({ onUpdate }: SetColumn): boolean {
  return onUpdate !== undefined;
}

/** Whether the body changes a value of the row. Compares the bytes of the values: 1.5 and 1.50 are different texts, and a null equals a null. */
export function isChanged(table: ColumnSet, toSent: ToSent): string {
  const before = table.columns.map(({ name }) => `"$t".${quoteName(name)}`);
  const after = table.columns.map((column) => nextValue(column, toSent));
  return `record_image_ne(row(${before.join(", ")}), row(${after.join(", ")}))`;
}
