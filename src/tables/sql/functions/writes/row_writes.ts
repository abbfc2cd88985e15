/** How a row changes: what an update assigns, and whether it changes a value. @module */

import { quoteName } from "../../../../db/mod.ts";
import type { ColumnSet } from "../../../catalog/mod.ts";
import { isGiven, type SetColumn, variable } from "../function_terms.ts";

/** The columns of an update; `isChanged`: whether those that change with the others do. */
export function assignments(table: ColumnSet, isChanged: string): string[] {
  return table.columns.map((column, index) => {
    const time = isUpdated(column) ? ` when ${isChanged} then "$now"` : "";
    return `${quoteName(column.name)} = ${nextValue(column, index, time)}`;
  });
}

/** A column's value after the update; `otherwise` are further branches for a column that the body omits. */
function nextValue(column: SetColumn, index: number, otherwise = ""): string {
  return `case when ${isGiven(column)} then ${variable(index)}${otherwise} else "$t".${quoteName(column.name)} end`;
}

export function setsTime({ columns }: ColumnSet): boolean {
  return columns.some(isUpdated);
}

function isUpdated({ onUpdate }: SetColumn): boolean {
  return onUpdate !== undefined;
}

/** Whether the body changes a value of the row. Compares the bytes of the values: 1.5 and 1.50 are different texts, and a null equals a null. */
export function isChanged(table: ColumnSet): string {
  const before = table.columns.map(({ name }) => `"$t".${quoteName(name)}`);
  const after = table.columns.map((column, index) => nextValue(column, index));
  return `record_image_ne(row(${before.join(", ")}), row(${after.join(", ")}))`;
}
