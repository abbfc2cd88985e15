/**
 * What a write rejects of the values that it is sent: columns that the caller cannot set, and references to rows that the caller does not
 * read. An API key can set all columns and reads all rows, so that the parts are empty.
 *
 * A write rejects first what depends on the request alone, and references before it writes. So a reference to a row that the person
 * does not read has the error of a missing row, whatever else is wrong.
 *
 * @see view_terms.ts for the conditions
 * @module
 */

import { quoteLiteral } from "../../../../db/mod.ts";
import type { ColumnSet } from "../../../catalog/mod.ts";
import { isGiven, type SetColumn, variable } from "../function_terms.ts";
import { checkedReferences, closedColumns, isOwner, type Place, WHO } from "../view_terms.ts";

/** The values that a write is sent, in variables. A new row's owner is the person who calls. */
export function onVariables(table: ColumnSet, id: string): Place {
  const toValue = (name: string) => {
    const column = findColumn(table, name);
    return isOwner(table, column) ? WHO : variable(table, column);
  };
  return { who: WHO, valueOf: (name) => (name === "id" ? id : toValue(name)) };
}

/** Whether a body names the column, or another person as a new row's owner. */
function isNamed(table: ColumnSet, column: SetColumn, { body, isNew }: Sent): string | undefined {
  const { name } = column;
  const named = `${body} ? ${quoteLiteral(name)}`;
  if (closedColumns(table, isNew).includes(name)) return named;
  if (!isNew || !isOwner(table, column)) return undefined;
  return `${named} and coalesce(${body} ->> ${quoteLiteral(name)}, '') <> ${WHO}::text`;
}

type Sent = { readonly body: string; readonly isNew: boolean };

/** The first column of a body that the person cannot set, as an expression; `undefined` if the person can set all. */
export function closedColumn(table: ColumnSet, sent: Sent): string | undefined {
  const cases = table.columns.flatMap((column) => {
    const named = isNamed(table, column, sent);
    return named === undefined ? [] : [`when ${named} then ${quoteLiteral(column.name)}`];
  });
  // In parentheses: PL/pgSQL ends the condition of an "if" at the first "then".
  return cases.length === 0 ? undefined : `(case ${cases.join(" ")} end)`;
}

/** Rejects the variable `"$body"` if it names a column that the person cannot set. */
export function rejectClosed(table: ColumnSet, isNew: boolean): string {
  const column = closedColumn(table, { body: '"$body"', isNew });
  if (column === undefined) return "";
  return `if (${column}) is not null then
    perform rowhouse.reject_rule(${column});
  end if;`;
}

/** Rejects references in variables. An update checks those that its body has. */
export function rejectReferences(
  table: ColumnSet,
  place: Place,
  action: "create" | "update",
): string {
  const checks = checkedReferences(table).map(({ column, constraint, isReadable }) => {
    const given = action === "create" ? "" : `${isGiven(findColumn(table, column))} and `;
    return `if ${given}${place.valueOf(column)} is not null and not coalesce(${isReadable(place)}, false) then
    perform rowhouse.reject_reference(${quoteLiteral(constraint)});
  end if;`;
  });
  return checks.join("\n  ");
}

function findColumn({ columns }: ColumnSet, name: string): SetColumn {
  const column = columns.find((each) => each.name === name);
  if (column === undefined) throw new Error(`No column ${name}`);
  return column;
}
