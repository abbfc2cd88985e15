/** The block of the function of batches that updates rows by their ids. @see function_terms.ts for its parts @module */

import { dialectOf, quoteLiteral, quoteName } from "../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  NO_MATCHES,
  placeholdersOf,
  ROW_MATCH,
  UPDATES,
} from "../catalog/mod.ts";
import { sqlType } from "../plan/step.ts";
import {
  claimKey,
  completeKey,
  idText,
  input,
  isRow,
  outputs,
  ROW_TEXT,
  raiseAgain,
  recordChanges,
  returnText,
  rowsText,
  variable,
} from "./function_terms.ts";
import { assignments, isChanged, isUpdated, tagOf } from "./update_bodies.ts";

/**
 * Locks all rows in the order of their ids, so that two lists in opposite order wait for each other instead of deadlocking. Then
 * writes the rows that change, or none: if a row is missing, or has none of its tags, returns the positions of all such rows. An
 * error of a row has its position in the request.
 */
export function updateManyBlock(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids, bytes, claim } = placeholdersOf("create_many");
  const rows = `data.${quoteName(table.name)} as "$t"`;
  const id = `(${ids})["$nth"]`;
  const declared = table.columns.map(
    (column, index) => `${variable(index)} ${sqlType(table, column)};`,
  );
  const read = table.columns.map(
    (column, index) => `${variable(index)} := ${input(table, column)};`,
  );
  const setsTime = table.columns.some(isUpdated);
  const select = `select ${outputs(table)} into "$row" from ${rows} where ${isRow(app, id)}`;
  const short = `(select ${rowsText(`string_agg(${idText('"$one"."$id"')}, ',' order by "$one"."$n")`)}
    from unnest(${ids}) with ordinality as "$one" ("$id", "$n"))`;
  const write =
    table.columns.length === 0
      ? `${select};`
      : `"$changed" := false;
      if "$body" <> '{}' then
        select ${isChanged(table)} into "$changed" from ${rows} where ${isRow(app, id)};
      end if;
      if "$changed" then
        update ${rows} set
          ${assignments(table).join(",\n          ")}
        where ${isRow(app, id)}
        returning ${outputs(table)} into "$row";
        "$written" := array_append("$written", ${id});
      else
        ${select};
      end if;`;
  const changed = `select ${app}, ${quoteLiteral(table.name)}, "$one"."$id" from unnest("$written") as "$one" ("$id")`;
  // The function of batches has these variables where it reads its rows one by one.
  const own = dialectOf(site).insertsQueries
    ? ['"$body" jsonb;', '"$row" record;', ...declared].join("\n      ")
    : "";
  return `declare
      ${own}
      "$order" int4[] := array(select "$one"."$n"::int4 from unnest(${ids}) with ordinality as "$one" ("$id", "$n")
        order by "$one"."$id");
      "$nth" int4;
      "$match" text;
      "$missing" int4[] := '{}';
      "$unmatched" int4[] := '{}';
      "$written" uuid[] := '{}';
      "$changed" bool;
      ${setsTime ? '"$now" timestamptz;' : ""}
      "$size" int8 := 0;
    begin
  "$all" := "$all" -> '${UPDATES}';
  "$rows" := array_fill(null::text, array[cardinality(${ids})]);
  ${claimKey({ app, proof, claim, response: "null", short })}
  foreach "$nth" in array "$order" loop
    ${select} for no key update;
    "$match" := "$all" -> ("$nth" - 1) ->> '${ROW_MATCH}';
    if not found then
      "$missing" := array_append("$missing", "$nth" - 1);
    elsif "$match" is not null and ${tagOf(ROW_TEXT)} <> all (string_to_array("$match", ',')) then
      "$unmatched" := array_append("$unmatched", "$nth" - 1);
    end if;
  end loop;
  if cardinality("$missing") + cardinality("$unmatched") > 0 then
    if ${claim} is not null then
      perform rowhouse.forget_key(${app}, ${claim});
    end if;
    return concat('${NO_MATCHES}', json_build_object('missing', "$missing", 'unmatched', "$unmatched"));
  end if;
  ${setsTime ? '"$now" := clock_timestamp();' : ""}
  begin
    foreach "$nth" in array "$order" loop
      "$body" := ("$all" -> ("$nth" - 1)) - '${ROW_MATCH}';
      ${read.join("\n      ")}
      ${write}
      "$text" := ${ROW_TEXT};
      "$size" := "$size" + octet_length("$text");
      if "$size" > ${bytes} then
        return rowhouse.reject_row(${id});
      end if;
      "$rows"["$nth"] := "$text";
    end loop;
  exception when integrity_constraint_violation then
    ${raiseAgain(site, '"$nth"')}
  end;
  ${recordChanges(site, changed)}
  "$text" := ${rowsText(`array_to_string("$rows", ',')`)};
  ${completeKey({ app, claim })}
  ${returnText(`(${ids})[1]`, bytes)}
    end;`;
}
