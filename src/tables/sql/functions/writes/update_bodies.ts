/** The bodies of functions that update and delete rows. @see function_terms.ts for their parts @module */

import { quoteName } from "../../../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  NO_MATCH,
  placeholdersOf,
} from "../../../catalog/mod.ts";
import { sqlType } from "../../../plan/step.ts";
import { callerOf, declareWho } from "../caller_terms.ts";
import {
  beginAs,
  declareListens,
  input,
  isRow,
  nameDeleted,
  outputs,
  returnText,
  tagOf,
  variable,
} from "../function_terms.ts";
import { andVisible } from "../view_terms.ts";
import { changedOf, mayChange, rejectUnchangeable } from "./changed_row_terms.ts";
import { beginWrite } from "./claim_terms.ts";
import { writesAt } from "./node_writes.ts";
import { assignments, isChanged, setsTime } from "./row_writes.ts";
import { onVariables, rejectClosed, rejectReferences } from "./sent_terms.ts";

/** Whether the row has one of the requested tags, computed from its text. Checked again if another write came first. */
function isMatch(table: ColumnSet, match: string): string {
  const text = `(select row_to_json("$old")::text from (select ${outputs(table)}) as "$old")`;
  return `${tagOf(text)} = any (string_to_array(${match}, ','))`;
}

/**
 * Writes the row if it has one of the requested tags. A write without tags is a statement of its own: PostgreSQL prepares all
 * functions of a statement, also those that it does not call.
 */
function ifMatched(
  table: ColumnSet,
  site: FunctionSite,
  endpoint: "update" | "delete",
  write: (condition: string) => string,
): string {
  const { app, id, match } = placeholdersOf(endpoint);
  const rule = `${isRow(app, id)}${mayChange(table, endpoint === "update" ? "from" : "delete")}`;
  const { compareFirst } = writesAt(site);
  if (compareFirst !== undefined) return `${compareFirst(table, endpoint)}\n  ${write(rule)}`;
  return `if ${match} is null then
    ${write(rule)}
  else
    ${write(`${rule} and ${isMatch(table, match)}`)}
  end if;`;
}

/** The result of a write without a matching row: empty, or a marker if the row has another tag. */
function notMatched(table: ColumnSet, endpoint: "update" | "delete"): string {
  const { app, id, match } = placeholdersOf(endpoint);
  return `case when ${match} is not null and exists (
    select from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}${andVisible(table)}) then '${NO_MATCH}' end`;
}

export function updateBody(table: ColumnSet, site: FunctionSite): string {
  const { id, body, bytes } = placeholdersOf("update");
  const keyed = beginWrite(table, "update", site, { short: callerOf(table).toShort(id) });
  const declared = table.columns.map(
    (column, index) => `${variable(index)} ${sqlType(table, column)} := ${input(table, column)};`,
  );
  const assigned = assignments(table, '"$changed"');
  const hasTime = setsTime(table);
  const rows = `data.${quoteName(table.name)} as "$t"`;
  const found = changedOf(table);
  // An empty update does not change the row, nor anything derived from its state.
  const read = (condition: string) =>
    `select ${found.values} into ${found.variables} from ${rows} where ${condition};`;
  const write = (condition: string) => `if "$body" = '{}' then
      ${read(condition)}
    else
      update ${rows} set
        ${assigned.join(",\n        ")}
      where ${condition}
      returning ${found.values} into ${found.variables};
    end if;`;
  return `declare
  "$body" jsonb := ${body}::jsonb;
  ${declared.join("\n  ")}
  ${[found.declared, keyed.declared].join("\n  ")}
  ${hasTime ? '"$changed" bool;' : ""}
  ${hasTime ? '"$now" timestamptz;' : ""}
  "$text" text;
begin
  ${keyed.begin}
  ${rejectClosed(table, false)}
  ${rejectReferences(table, onVariables(table, id), "update")}
  ${hasTime ? findChange(table) : ""}
  ${ifMatched(table, site, "update", assigned.length === 0 ? read : write)}
  if not found then
    ${rejectUnchangeable(table, "from", { id })}
    ${keyed.forget}
    return ${notMatched(table, "update")};
  end if;
  ${found.text}
  ${found.end(id)}
  ${keyed.complete}
  ${returnText(id, bytes)}
end`;
}

/**
 * Finds whether the body changes a value, and the time for the columns that such an update sets. Reads the time once the row is locked: the
 * time of an update that waits for another one must not be the earlier of both.
 */
function findChange(table: ColumnSet): string {
  const { app, id } = placeholdersOf("update");
  return `if "$body" <> '{}' then
    select ${isChanged(table)} into "$changed"
    from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}${mayChange(table, "from")} for no key update;
    "$now" := clock_timestamp();
  end if;`;
}

export function deleteBody(table: ColumnSet, site: FunctionSite): string {
  const { id } = placeholdersOf("delete");
  const remove = (condition: string) =>
    `delete from data.${quoteName(table.name)} as "$t" where ${condition};`;
  return `declare
  ${declareWho(table)}
  ${declareListens("delete", site)}
  ${writesAt(site).compareFirst === undefined ? "" : '"$row" record;'}
begin
  ${beginAs(table, "delete", site)}
  ${nameDeleted(table, site, id)}
  ${ifMatched(table, site, "delete", remove)}
  if found then
    return '';
  end if;
  ${rejectUnchangeable(table, "delete", { id })}
  return ${notMatched(table, "delete")};
end`;
}
