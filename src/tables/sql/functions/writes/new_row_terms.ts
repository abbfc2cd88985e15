/**
 * The rules on new rows, of one and of several: what a create rejects, and what its response has. An API key has every right, so that
 * nothing is rejected and the response has whole rows.
 *
 * @see view_terms.ts for the conditions
 * @module
 */

import { quoteLiteral, quoteName } from "../../../../db/mod.ts";
import { type ColumnSet, withoutTrue } from "../../../catalog/mod.ts";
import { callerOf } from "../caller_terms.ts";
import { initial, ROW_TEXT } from "../function_terms.ts";
import { checkedReferences, isAllowedNew, isTrueOfNew, onRow, rightsOn } from "../view_terms.ts";
import { closedColumn, onVariables, rejectClosed, rejectReferences } from "./sent_terms.ts";

/** Rejects the values of the variables if the rule for new rows does not hold, or a reference is to a row that the person does not read. */
export function rejectNew(table: ColumnSet, id: string): string {
  const place = onVariables(table, id);
  const condition = isAllowedNew(table, "create", place);
  const rule =
    condition === "true"
      ? ""
      : `if not coalesce(${condition}, false) then
    perform rowhouse.reject_rule(null);
  end if;`;
  return [rejectClosed(table, true), rule, rejectReferences(table, place, "create")].join("\n  ");
}

/** The text of the new row in `"$row"`, whose values the variables have. */
export function newText(table: ColumnSet, id: string): string {
  const { toShort } = callerOf(table);
  const condition = isAllowedNew(table, "read", onVariables(table, id));
  if (condition === "true") return ROW_TEXT;
  return condition === "false"
    ? toShort(id)
    : `case when ${condition} then ${ROW_TEXT} else ${toShort(id)} end`;
}

/** How rows are created: expressions for the ids and the bodies, and for the time of a row at `"$new"."$nth"`. */
type NewRows = { readonly ids: string; readonly bodies: string; readonly now?: string };

/** The rows that an insert reads: `"$new"` with the id and the body. */
export function fromNew({ ids, bodies, now }: NewRows): string {
  const [ordinality, nth] = now === undefined ? ["", ""] : [" with ordinality", ', "$nth"'];
  return `from rows from (unnest(${ids}), jsonb_array_elements(${bodies}))${ordinality} as "$new" ("$id", "$body"${nth})`;
}

/**
 * Rejects new rows as {@linkcode rejectNew} before their insert: a row cannot be the membership that allows it.
 */
export function rejectNewRows(table: ColumnSet, rows: NewRows): string {
  const references = checkedReferences(table);
  const compared = [...comparedByCreate(table), ...references.map(({ column }) => column)];
  const typed = typeNew(table, compared, rows);
  const condition = isAllowedNew(table, "create", onRow());
  const closed = closedColumn(table, { body: '"$new"."$body"', isNew: true });
  const checks = [
    closed === undefined
      ? ""
      : `"$field" := (select ${closed} ${fromNew(rows)} where ${closed} is not null limit 1);
    if "$field" is not null then
      perform rowhouse.reject_rule("$field");
    end if;`,
    condition === "true"
      ? ""
      : `if exists (select from ${typed} where not coalesce(${condition}, false)) then
      perform rowhouse.reject_rule(null);
    end if;`,
    ...references.map(
      ({ column, constraint, isReadable }) =>
        `if exists (select from ${typed} where "$t".${quoteName(column)} is not null
      and not coalesce(${isReadable(onRow())}, false)) then
      perform rowhouse.reject_reference(${quoteLiteral(constraint)});
    end if;`,
    ),
  ];
  return checks.filter((check) => check !== "").join("\n    ");
}

/** The columns that the rule for new rows compares. */
export function comparedByCreate(table: ColumnSet): string[] {
  const rights = rightsOn(table);
  const left = withoutTrue(rights.create ?? [], isTrueOfNew(rights)) ?? [];
  return left.flatMap((alternative) => Object.keys(alternative));
}

/** New rows as "$t", with their ids and the values of these columns. */
function typeNew(table: ColumnSet, compared: readonly string[], rows: NewRows): string {
  const values = table.columns
    .filter(({ name }) => compared.includes(name))
    .map((column) => `${initial(table, column, rows.now)} as ${quoteName(column.name)}`);
  return `(select ${['"$new"."$id" as "id"', ...values].join(", ")} ${fromNew(rows)}) as "$t"`;
}

/** The variable of {@linkcode rejectNewRows}. */
export function declareField(table: ColumnSet): string {
  return closedColumn(table, { body: "", isNew: true }) === undefined ? "" : '"$field" text;';
}

/** What a response has of new rows: the whole row, only ids, or what the person reads of each. */
export function shownOfNew(table: ColumnSet): "whole" | "ids" | "each" {
  const condition = isAllowedNew(table, "read", onRow());
  if (condition === "true") return "whole";
  return condition === "false" ? "ids" : "each";
}
