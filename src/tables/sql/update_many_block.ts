/** The block of the function of batches that updates rows by their ids. @see function_terms.ts for its parts @module */

import { dialectOf, quoteName } from "../../db/mod.ts";
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
  input,
  isRow,
  outputs,
  ROW_TEXT,
  raiseAgain,
  returnText,
  rowsText,
  variable,
} from "./function_terms.ts";
import { assignments, isChanged, isUpdated, tagOf } from "./update_bodies.ts";
import { andAllowed, andVisible } from "./view_terms.ts";
import {
  CHANGED,
  changedOf,
  claimOf,
  closedColumn,
  endChange,
  onVariables,
  rejectReferences,
  replayOf,
  shortText,
} from "./view_write_terms.ts";

/**
 * Locks all rows in the order of their ids, so that two lists in opposite order wait for each other instead of deadlocking. Then
 * writes the rows that change, in the order of the list, or none: if a row is missing, or has none of its tags, returns the positions
 * of all such rows. An error of a row has its position in the request.
 */
export function updateManyBlock(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids, bytes, claim: sent } = placeholdersOf("create_many");
  // The function of batches has read the claim.
  const { claim } = claimOf(table, sent);
  const isOfView = table.view !== undefined;
  const rows = `data.${quoteName(table.name)} as "$t"`;
  const id = `(${ids})["$nth"]`;
  const declared = table.columns.map(
    (column, index) => `${variable(index)} ${sqlType(table, column)};`,
  );
  const filled = table.columns.map(
    (column, index) => `${variable(index)} := ${input(table, column)};`,
  );
  const setsTime = table.columns.some(isUpdated);
  const select = `select ${outputs(table)} into "$row" from ${rows} where ${isRow(app, id)}`;
  const found = changedOf(table);
  const read = `select ${found.values} into ${found.variables} from ${rows} where ${isRow(app, id)}`;
  const short = `(select ${rowsText(`string_agg(${shortText(table, '"$one"."$id"')}, ',' order by "$one"."$n")`)}
    from unnest(${ids}) with ordinality as "$one" ("$id", "$n"))`;
  const write =
    table.columns.length === 0
      ? `${read};`
      : `"$changed" := false;
      if "$body" <> '{}' then
        select ${isChanged(table)} into "$changed" from ${rows} where ${isRow(app, id)};
      end if;
      if "$changed" then
        update ${rows} set
          ${assignments(table).join(",\n          ")}
        where ${isRow(app, id)}
        returning ${found.values} into ${found.variables};
      else
        ${read};
      end if;`;
  const forbid = isOfView ? andAllowed(table, "from") : "";
  const closed = closedColumn(table, { body: '"$e"."$body"', isNew: false });
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
      "$changed" bool;
      ${setsTime ? '"$now" timestamptz;' : ""}
      "$size" int8 := 0;
      ${isOfView ? CHANGED.declared : ""}
      ${isOfView ? '"$forbidden" int4;' : ""}
    begin
  "$all" := "$all" -> '${UPDATES}';
  ${closed === undefined ? "" : rejectClosedRow(closed)}
  "$rows" := array_fill(null::text, array[cardinality(${ids})]);
  ${claimKey({ app, proof, claim, response: "null", short, replay: replayOf(table) })}
  foreach "$nth" in array "$order" loop
    ${select}${andVisible(table)} for no key update;
    "$match" := "$all" -> ("$nth" - 1) ->> '${ROW_MATCH}';
    if not found then
      "$missing" := array_append("$missing", "$nth" - 1);
    ${
      forbid === ""
        ? ""
        : `elsif not exists (select from ${rows} where ${isRow(app, id)}${forbid}) then
      "$forbidden" := least("$forbidden", "$nth");`
    }
    elsif "$match" is not null and ${tagOf(ROW_TEXT)} <> all (string_to_array("$match", ',')) then
      "$unmatched" := array_append("$unmatched", "$nth" - 1);
    end if;
  end loop;
  ${
    forbid === ""
      ? ""
      : `if "$missing" = '{}' and "$forbidden" is not null then
    perform rowhouse.reject_rule_at(null, "$forbidden" - 1);
  end if;`
  }
  if cardinality("$missing") + cardinality("$unmatched") > 0 then
    if ${claim} is not null then
      perform rowhouse.forget_key(${app}, ${claim});
    end if;
    return concat('${NO_MATCHES}', json_build_object('missing', "$missing", 'unmatched', "$unmatched"));
  end if;
  ${setsTime ? '"$now" := clock_timestamp();' : ""}
  begin
    foreach "$nth" in array array(select generate_series(1, cardinality(${ids}))) loop
      "$body" := ("$all" -> ("$nth" - 1)) - '${ROW_MATCH}';
      ${filled.join("\n      ")}
      ${isOfView ? rejectReferences(table, onVariables(table, id), "update") : ""}
      ${write}
      ${isOfView ? endChange(table, id) : `"$text" := ${ROW_TEXT};`}
      "$size" := "$size" + octet_length("$text");
      if "$size" > ${bytes} then
        return rowhouse.reject_row(${id});
      end if;
      "$rows"["$nth"] := "$text";
    end loop;
  exception when integrity_constraint_violation then
    ${raiseAgain(site, '"$nth"')}
  end;
  "$text" := ${rowsText(`array_to_string("$rows", ',')`)};
  ${completeKey({ app, claim })}
  ${returnText(`(${ids})[1]`, bytes)}
    end;`;
}

/** Rejects the first row that names a column that the person cannot set. */
function rejectClosedRow(closed: string): string {
  return `perform rowhouse.reject_rule_at("$e"."$closed", "$e"."$n" - 1) from (
      select ${closed} as "$closed", "$e"."$n"::int4 as "$n"
      from jsonb_array_elements("$all") with ordinality as "$e" ("$body", "$n")
      where ${closed} is not null order by "$e"."$n" limit 1) as "$e";`;
}
