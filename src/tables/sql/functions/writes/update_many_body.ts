/** The body of the function that updates rows by their ids on the nodes of a cluster, where only API keys call it. @see node_writes.ts @module */

import { quoteName } from "../../../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  NO_MATCHES,
  placeholdersOf,
  ROW_MATCH,
} from "../../../catalog/mod.ts";
import { sqlType } from "../../../plan/step.ts";
import {
  input,
  isRow,
  outputs,
  ROW_TEXT,
  returnText,
  rowsText,
  tagOf,
  variable,
} from "../function_terms.ts";
import { beginWrite, shortRows } from "./claim_terms.ts";
import { writesAt } from "./node_writes.ts";
import { assignments, isChanged, setsTime } from "./row_writes.ts";

const { app, ids, bodies, bytes } = placeholdersOf("update_many");

/**
 * Locks all rows in the order of their ids, and compares them. Then writes the rows that change, in the order of the list, or none: if
 * a row is missing, or has none of its tags, returns the positions of all such rows. An error of a row has its position in the request.
 */
export function updateManyBody(table: ColumnSet, site: FunctionSite): string {
  const { raised, raiseAgain } = writesAt(site);
  const row = `${rowOfId(table)} for no key update`;
  const write = beginWrite(table, "update_many", site, { short: shortRows(table, ids) });
  return `declare
  "$all" constant jsonb := ${bodies}::jsonb;
  "$order" int4[] := array(select "$one"."$n"::int4 from unnest(${ids}) with ordinality as "$one" ("$id", "$n")
    order by "$one"."$id");
  "$rows" text[] := array_fill(null::text, array[cardinality(${ids})]);
  "$nth" int4;
  "$id" uuid;
  "$match" text;
  "$missing" int4[] := '{}';
  "$unmatched" int4[] := '{}';
  "$size" int8 := 0;
  "$text" text;
  ${[write.declared, declareChange(table), raised].join("\n  ")}
begin
  ${write.begin}
  foreach "$nth" in array "$order" loop
    "$id" := (${ids})["$nth"];
    "$match" := "$all" -> ("$nth" - 1) ->> '${ROW_MATCH}';
    if "$match" is not null then
      select ${outputs(table)} into "$row" from ${row};
    else
      perform from ${row};
    end if;
    if not found then
      "$missing" := array_append("$missing", "$nth" - 1);
    elsif "$match" is not null and ${tagOf(ROW_TEXT)} <> all (string_to_array("$match", ',')) then
      "$unmatched" := array_append("$unmatched", "$nth" - 1);
    end if;
  end loop;
  if cardinality("$missing") + cardinality("$unmatched") > 0 then
    ${write.forget}
    return concat('${NO_MATCHES}', json_build_object('missing', "$missing", 'unmatched', "$unmatched"));
  end if;
  ${readTime(table)}
  begin
    foreach "$nth" in array array(select generate_series(1, cardinality(${ids}))) loop
      "$id" := (${ids})["$nth"];
      "$body" := ("$all" -> ("$nth" - 1)) - '${ROW_MATCH}';
      ${readChange(table)}
      ${changeRow(table)}
      "$text" := ${ROW_TEXT};
      "$size" := "$size" + octet_length("$text");
      if "$size" > ${bytes} then
        return rowhouse.reject_row("$id");
      end if;
      "$rows"["$nth"] := "$text";
    end loop;
  exception when integrity_constraint_violation then
    ${raiseAgain('"$nth"')}
  end;
  "$text" := ${rowsText(`array_to_string("$rows", ',')`)};
  ${write.complete}
  ${returnText(`(${ids})[1]`, bytes)}
end`;
}

function rowOfId(table: ColumnSet): string {
  return `data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$id"')}`;
}

/** The variables of {@linkcode changeRow}. */
function declareChange(table: ColumnSet): string {
  return [
    '"$body" jsonb;',
    ...table.columns.map((column, index) => `${variable(index)} ${sqlType(table, column)};`),
    ...(setsTime(table) ? ['"$now" timestamptz;'] : []),
    '"$row" record;',
  ].join("\n  ");
}

/** Reads the sent values of `"$body"`. */
function readChange(table: ColumnSet): string {
  return table.columns
    .map((column, index) => `${variable(index)} := ${input(table, column)};`)
    .join("\n      ");
}

/** Reads the time of a change, once the rows are locked: the time of a write that waits for another one must not be the earlier of both. */
function readTime(table: ColumnSet): string {
  return setsTime(table) ? '"$now" := clock_timestamp();' : "";
}

/** Reads the row of `"$id"`, which is locked, into `"$row"`, after an update if a value changes. */
function changeRow(table: ColumnSet): string {
  const read = `select ${outputs(table)} into "$row" from ${rowOfId(table)};`;
  if (table.columns.length === 0) return read;
  return `update data.${quoteName(table.name)} as "$t" set
        ${assignments(table, "true").join(",\n        ")}
      where ${isRow(app, '"$id"')} and ${isChanged(table)}
      returning ${outputs(table)} into "$row";
      if not found then
        ${read}
      end if;`;
}
