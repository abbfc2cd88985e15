/** Parts of the body of the walk: the text of a row, and its references. rowhouse.build_page builds the rows of a large page. @module */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import { SQL } from "../../../kinds/mod.ts";
import { type ColumnSet, queryColumns, referenceColumns, setName } from "../../catalog/mod.ts";
import type { SetColumn } from "./function_terms.ts";

/** The terms of the set, for functions of all tables. */
export function readTerms(table: ColumnSet): string {
  return `rowhouse.read_terms(${quoteLiteral(setName(table))}, 1::int2)`;
}

/** The text of "$t" with its selected columns, in the table's order. An array, because a function has max 100 arguments. */
export function pickedRow(table: ColumnSet, picked: string): string {
  const columns = queryColumns(table);
  const order = [{ name: "id" }, ...table.columns].map(({ name }) => name);
  const members = columns
    .toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
    .map(
      (column) =>
        `case when ${columns.indexOf(column) + 1} = any (${picked}) then ${memberOf(column)} end`,
    );
  return `concat('{', array_to_string(array[
        ${members.join(",\n        ")}], ','), '}')`;
}

function memberOf({ name, kind }: SetColumn): string {
  const value = `"$t".${quoteName(name)}`;
  return `${quoteLiteral(`${JSON.stringify(name)}:`)} || coalesce(to_json(${SQL[kind].isSentAsText ? `${value}::text` : value})::text, 'null')`;
}

/** The references of a row, numbered as in plans. */
export function referencesOfRow(table: ColumnSet): string {
  const names = referenceColumns(table).map(({ name }) => `"$t".${quoteName(name)}`);
  return `array[${names.join(", ") || "null"}]::uuid[]`;
}
