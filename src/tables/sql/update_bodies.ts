/** The bodies of functions that update and delete rows. @see function_terms.ts for their parts @module */

import { dialectOf, quoteName } from "../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  NO_MATCH,
  placeholdersOf,
  TAG_LENGTH,
} from "../catalog/mod.ts";
import { sqlType } from "../plan/step.ts";
import {
  beginAs,
  claimKey,
  completeKey,
  declareListens,
  input,
  isGiven,
  isRow,
  nameDeleted,
  outputs,
  ROW_TEXT,
  returnText,
  type SetColumn,
  variable,
} from "./function_terms.ts";
import { andVisible, declareWho } from "./view_terms.ts";
import {
  CHANGED,
  changedOf,
  claimOf,
  endChange,
  mayChange,
  onVariables,
  rejectClosed,
  rejectReferences,
  rejectUnchangeable,
  replayOf,
  shortText,
} from "./view_write_terms.ts";

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
  if (!dialectOf(site).comparesInWrites)
    return `${rejectUnmatched(table, endpoint)}\n  ${write(rule)}`;
  return `if ${match} is null then
    ${write(rule)}
  else
    ${write(`${rule} and ${isMatch(table, match)}`)}
  end if;`;
}

/** The tag of a row: the first hex digits of its text's hash, as many as the process uses. */
export function tagOf(text: string): string {
  return `left(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), ${TAG_LENGTH})`;
}

/** The result of a write without a matching row: empty, or a marker if the row has another tag. */
function notMatched(table: ColumnSet, endpoint: "update" | "delete"): string {
  const { app, id, match } = placeholdersOf(endpoint);
  return `case when ${match} is not null and exists (
    select from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}${andVisible(table)}) then '${NO_MATCH}' end`;
}

export function updateBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, id, body, bytes, claim: sent } = placeholdersOf("update");
  const { claim, ...claimed } = claimOf(table, sent);
  const isOfView = table.view !== undefined;
  const declared = table.columns.map(
    (column, index) => `${variable(index)} ${sqlType(table, column)} := ${input(table, column)};`,
  );
  const assigned = assignments(table);
  const setsTime = table.columns.some(isUpdated);
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
  ${isOfView ? [declareWho(table), claimed.declared, CHANGED.declared].join("\n  ") : ""}
  ${declareListens("update", site)}
  ${setsTime ? '"$changed" bool;' : ""}
  ${setsTime ? '"$now" timestamptz;' : ""}
  ${isOfView ? "" : '"$row" record;'}
  "$text" text;
begin
  ${beginAs(table, "update", site)}
  ${claimed.read}
  ${claimKey({ app, proof, claim, response: "null", short: shortText(table, id), replay: replayOf(table) })}
  ${rejectClosed(table, false)}
  ${isOfView ? rejectReferences(table, onVariables(table, id), "update") : ""}
  ${setsTime ? findChange(table) : ""}
  ${ifMatched(table, site, "update", assigned.length === 0 ? read : write)}
  if not found then
    ${rejectUnchangeable(table, "from", { id })}
    if ${claim} is not null then
      perform rowhouse.forget_key(${app}, ${claim});
    end if;
    return ${notMatched(table, "update")};
  end if;
  ${isOfView ? endChange(table, id) : ""}
  ${isOfView ? "" : `"$text" := ${ROW_TEXT};`}
  ${completeKey({ app, claim })}
  ${returnText(id, bytes)}
end`;
}

/** The columns of an update, with the time of a change. */
export function assignments(table: ColumnSet): string[] {
  return table.columns.map(
    (column, index) =>
      `${quoteName(column.name)} = ${nextValue(column, index, isUpdated(column) ? ` when "$changed" then "$now"` : "")}`,
  );
}

/** A column's value after the update; `otherwise` are further branches for a column that the body omits. */
function nextValue(column: SetColumn, index: number, otherwise = ""): string {
  return `case when ${isGiven(column)} then ${variable(index)}${otherwise} else "$t".${quoteName(column.name)} end`;
}

export function isUpdated({ onUpdate }: SetColumn): boolean {
  return onUpdate !== undefined;
}

/**
 * Finds whether the body changes a value, and the time for the columns that such an update sets. Compares the bytes of the
 * values: 1.5 and 1.50 are different texts, and a null equals a null. Reads the time once the row is locked: the time of an
 * update that waits for another one must not be the earlier of both.
 */
function findChange(table: ColumnSet): string {
  const { app, id } = placeholdersOf("update");
  return `if "$body" <> '{}' then
    select ${isChanged(table)} into "$changed"
    from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)}${mayChange(table, "from")} for no key update;
    "$now" := clock_timestamp();
  end if;`;
}

/** Whether the body changes a value of the row. */
export function isChanged(table: ColumnSet): string {
  const before = table.columns.map(({ name }) => `"$t".${quoteName(name)}`);
  const after = table.columns.map((column, index) => nextValue(column, index));
  return `record_image_ne(row(${before.join(", ")}), row(${after.join(", ")}))`;
}

export function deleteBody(table: ColumnSet, site: FunctionSite): string {
  const { id } = placeholdersOf("delete");
  const remove = (condition: string) =>
    `delete from data.${quoteName(table.name)} as "$t" where ${condition};`;
  return `declare
  ${declareWho(table)}
  ${declareListens("delete", site)}
  ${dialectOf(site).comparesInWrites ? "" : '"$row" record;'}
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

/**
 * Rejects a write of a row without a requested tag, in a separate statement. Locks the row, so that it does not change before the write.
 */
function rejectUnmatched(table: ColumnSet, endpoint: "update" | "delete"): string {
  const { app, id, match } = placeholdersOf(endpoint);
  const forget =
    endpoint === "update"
      ? `
      if ${placeholdersOf("update").claim} is not null then
        perform rowhouse.forget_key(${app}, ${placeholdersOf("update").claim});
      end if;`
      : "";
  return `if ${match} is not null then
    select ${outputs(table)} into "$row" from data.${quoteName(table.name)} as "$t" where ${isRow(app, id)} for update;
    if found and ${tagOf(ROW_TEXT)} <> all (string_to_array(${match}, ',')) then${forget}
      return '${NO_MATCH}';
    end if;
  end if;`;
}
