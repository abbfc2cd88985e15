/** The body of the function that updates rows by their ids on the nodes of a cluster, where only API keys call it. @see node_writes.ts @module */

import {
  type ColumnSet,
  type FunctionSite,
  NO_MATCHES,
  placeholdersOf,
  ROW_MATCH,
} from "../../../catalog/mod.ts";
import { outputs, ROW_TEXT, returnText, rowsText, tagOf } from "../function_terms.ts";
import { beginWrite, shortRows } from "./claim_terms.ts";
import { writesAt } from "./node_writes.ts";
import { changeRow, declareChange, readChange, readRow, readTime, rowOfId } from "./row_writes.ts";

const { ids, bodies, bytes } = placeholdersOf("update_many");

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
      ${changeRow(table, { unchanged: readRow(table) })}
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
