/**
 * The rules on a row that changes: before the write, and of its new state. An API key has every right, so that nothing is rejected.
 *
 * @see view_terms.ts for the conditions
 * @module
 */

import { quoteName } from "../../../../db/mod.ts";
import { type ColumnSet, placeholdersOf } from "../../../catalog/mod.ts";
import { callerOf } from "../caller_terms.ts";
import { isRow, outputs, ROW_TEXT } from "../function_terms.ts";
import { andAllowed, isAllowed, isVisible, readsItself } from "../view_terms.ts";

/** The app is the first parameter of every function. */
const APP = placeholdersOf("get").app;

/** The conditions that a row must fulfill before a change. */
export function mayChange(table: ColumnSet, name: "from" | "delete"): string {
  const conditions = (["read", name] as const).map((rule) => andAllowed(table, rule));
  return [...new Set(conditions)].join("");
}

/** Rejects a row that the person reads and may not change. */
export function rejectUnchangeable(
  table: ColumnSet,
  name: "from" | "delete",
  { id }: { readonly id: string },
): string {
  const condition = isAllowed(table, name);
  // Every row that the caller reads fulfills the rule.
  if (condition === "true" || condition === isVisible(table)) return "";
  return `if exists (select from data.${quoteName(table.name)} as "$t" where ${isRow(APP, id)}
      and (${isVisible(table)}) and not coalesce(${condition}, false)) then
      perform rowhouse.reject_rule(null);
    end if;`;
}

/** What a write reads of the changed row "$t", and what it does with it. */
type Changed = {
  readonly declared: string;
  readonly values: string;
  readonly variables: string;
  /** Sets `"$text"` to the row's text. */
  readonly text: string;
  /** Rejects a new state that no rule allows, and leaves the ids of a row that the caller does not read anymore. */
  readonly end: (id: string) => string;
};

export function changedOf(table: ColumnSet): Changed {
  const allowed = isAllowed(table, "to");
  const visible = isVisible(table);
  if (allowed === "true" && visible === "true")
    return {
      ...{ declared: '"$row" record;', values: outputs(table), variables: '"$row"' },
      ...{ text: `"$text" := ${ROW_TEXT};`, end: () => "" },
    };
  const text = `(select row_to_json("$o")::text from (select ${outputs(table)}) as "$o")`;
  return {
    declared: `"$ok" bool;
  "$seen" bool;`,
    values: `${text}, coalesce(${allowed}, false), coalesce(${visible}, false)`,
    variables: '"$text", "$ok", "$seen"',
    text: "",
    end: (id) => `if not "$ok" then
    perform rowhouse.reject_rule(null);
  end if;
  ${seeAgain(table, id)}
  "$text" := case when "$seen" then "$text" else ${callerOf(table).toShort(id)} end;`,
  };
}

/** A write of rows that the rule for reading reaches can change who reads them. */
function seeAgain(table: ColumnSet, id: string): string {
  if (!readsItself(table)) return "";
  return `"$seen" := exists (select from data.${quoteName(table.name)} as "$t" where ${isRow(APP, id)} and (${isVisible(table)}));`;
}
