/** The body of the function that updates rows by their ids. @see row_writes.ts for the write of a row @module */

import { quoteName } from "../../../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  NO_MATCHES,
  placeholdersOf,
  ROW_MATCH,
} from "../../../catalog/mod.ts";
import { isRow, outputs, returnText, rowsText, tagOf } from "../function_terms.ts";
import { andAllowed, andVisible, isAllowed, reachesRows } from "../view_terms.ts";
import { changedOf } from "./changed_row_terms.ts";
import { beginWrite, shortRows } from "./claim_terms.ts";
import { writesAt } from "./node_writes.ts";
import { changeRow, declareChange, readChange, readRow, readTime, rowOfId } from "./row_writes.ts";
import { closedColumn, onVariables, rejectClosedRow, rejectReferences } from "./sent_terms.ts";

const { app, ids, bodies, bytes } = placeholdersOf("update_many");

/**
 * Locks all rows in the order of their ids, and compares them. Then writes the rows that change, in the order of the list, or none: if
 * a row is missing, or has none of its tags, returns the positions of all such rows. An error of a row has its position in the request.
 */
export function updateManyBody(table: ColumnSet, site: FunctionSite): string {
  const { raised, raiseAgain } = writesAt(site);
  const row = rowOfId(table);
  const visible = andVisible(table);
  const isRuled = visible !== "" || andAllowed(table, "from") !== "";
  const again = compareAgain(table);
  const closed = closedColumn(table, { body: '"$e"."$body"', isNew: false });
  const { text, end } = changedOf(table);
  const write = beginWrite(table, "update_many", site, {
    short: shortRows(table, ids),
    first: closed === undefined ? "" : rejectClosedRow(closed),
  });
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
  "$forbidden" int4;
  "$may" bool := true;
  "$size" int8 := 0;
  "$text" text;
  "$found" record;
  ${[again.declared, write.declared, declareChange(table), raised].join("\n  ")}
begin
  ${write.begin}
  ${again.begin}
  foreach "$nth" in array "$order" loop
    "$id" := (${ids})["$nth"];
    "$match" := "$all" -> ("$nth" - 1) ->> '${ROW_MATCH}';
    ${isRuled ? `select coalesce(${isAllowed(table, "from")}, false) into "$may" from ${row}${visible}${LOCK};` : ""}
    if "$match" is not null then
      select ${outputs(table)} into "$found" from ${row}${visible}${LOCK};
    ${isRuled ? "" : `else\n      perform from ${row}${LOCK};`}
    end if;
    if not found then
      "$missing" := array_append("$missing", "$nth" - 1);
    elsif not "$may" then
      "$forbidden" := least("$forbidden", "$nth");
    elsif "$match" is not null and ${tagOf('row_to_json("$found")::text')} <> all (string_to_array("$match", ',')) then
      "$unmatched" := array_append("$unmatched", "$nth" - 1);
    end if;
  end loop;
  ${again.end}
  if "$missing" = '{}' and "$forbidden" is not null then
    perform rowhouse.reject_rule_at(null, "$forbidden" - 1);
  end if;
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
      ${rejectReferences(table, onVariables(table, '"$id"'), "update")}
      ${changeRow(table, { unchanged: readRow(table) })}
      ${text}
      ${end('"$id"')}
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

const LOCK = " for no key update";

/**
 * A rule can depend on rows of other tables, which change while a lock waits. Then all rows are compared again, under their locks,
 * unless no transaction has ended since the first was compared.
 */
function compareAgain(table: ColumnSet) {
  const reaches = (["read", "from"] as const).some((name) => reachesRows(table, name));
  if (!reaches) return { declared: "", begin: "", end: "" };
  return {
    declared: '"$began" text;',
    begin: '"$began" := pg_current_snapshot()::text;',
    end: `if "$began" <> pg_current_snapshot()::text and "$missing" = '{}' then
    select coalesce(array_agg("$e"."$n" - 1) filter (where "$e"."$may" is null), '{}'), min("$e"."$n") filter (where not "$e"."$may")
    into "$missing", "$forbidden" from (
      select "$e"."$n"::int4 as "$n", (select coalesce(${isAllowed(table, "from")}, false)
        from data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$e"."$id"')}${andVisible(table)}) as "$may"
      from unnest(${ids}) with ordinality as "$e" ("$id", "$n")) as "$e";
  end if;`,
  };
}
