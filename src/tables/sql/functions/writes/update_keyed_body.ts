/**
 * The body of the function that updates the rows with the same values in a unique constraint, and creates none.
 *
 * The rows are found by the index, locked in the order of their ids, and found again: a row that has got or lost the values of a key
 * while a lock waited begins the search again, without the locks. A row that the caller does not read is as if it were missing, and
 * is not locked.
 *
 * @see upsert_rows.ts for the write of a row
 * @module
 */

import { quoteLiteral, quoteName, SIGNALS } from "../../../../db/mod.ts";
import { type ColumnSet, type FunctionSite, placeholdersOf } from "../../../catalog/mod.ts";
import { isRow, isTooLarge, resultsText } from "../function_terms.ts";
import { andVisible, rightsOn, WHO } from "../view_terms.ts";
import { changedOf } from "./changed_row_terms.ts";
import { beginWrite } from "./claim_terms.ts";
import { writesAt } from "./node_writes.ts";
import { declareChange, lockRows, readRow, readTime } from "./row_writes.ts";
import { closedColumn, onVariables, rejectClosedRow, rejectReferences } from "./sent_terms.ts";
import { findExisting, readTarget } from "./upsert_index_terms.ts";
import { changeMet } from "./upsert_rows.ts";

const { app, bodies, unique, indexes, bytes } = placeholdersOf("update_keyed");
/** Each repetition is a change of keys by another write, so that more of them are a fault. */
const MAX_REPEATS = 20;

/** The rows that exist, and the results of all, in the order of the list. */
export function updateKeyedBody(table: ColumnSet, site: FunctionSite): string {
  const write = beginWrite(table, "update_keyed", site, {});
  const { raised, raiseAgain } = writesAt(site);
  const closed = closedColumn(table, { body: '"$e"."$body"', isNew: true });
  const { text, end } = changedOf(table);
  return `declare
  "$all" constant jsonb := ${bodies}::jsonb;
  "$count" constant int4 := jsonb_array_length("$all");
  "$sought" jsonb := "$all";
  "$form" int4;
  "$terms" text;
  "$rows" text;
  "$match" text;
  "$types" text;
  "$met" uuid[];
  "$known" int4[];
  "$ids" uuid[];
  "$repeats" int4 := 0;
  "$found" text[] := array_fill(null::text, array["$count"]);
  "$results" text[] := array_fill('missing'::text, array["$count"]);
  "$size" int8 := 0;
  "$id" uuid;
  "$nth" int4;
  "$hit" record;
  "$text" text;
  ${[declareChange(table), raised, write.declared].join("\n  ")}
begin
  ${write.begin}
  ${closed === undefined ? "" : rejectClosedRow(closed)}
  ${readTarget(table, { unique, indexes, isFound: true })}
  if "$match" is null then
    -- Only the form for searches finds a row by these values without a write.
    raise exception 'no such index' using errcode = '${SIGNALS.indexMissing}';
  end if;
  ${fillOwners(table)}
  loop
    begin
      ${findSeen(table)}
      "$ids" := "$met";
      ${lockRows(table, "no key update")}
      ${findSeen(table)}
      if exists (select from unnest("$met") as "$k" ("$id") where "$k"."$id" <> all ("$ids")) then
        raise serialization_failure;
      end if;
      exit;
    exception when serialization_failure then
      "$repeats" := "$repeats" + 1;
      if "$repeats" > ${MAX_REPEATS} then
        raise;
      end if;
    end;
  end loop;
  ${readTime(table)}
  begin
    for "$hit" in
      select "$p"."$nth", "$p"."$id" from rows from (unnest("$known"), unnest("$met")) as "$p" ("$nth", "$id") order by "$p"."$nth"
    loop
      "$nth" := "$hit"."$nth";
      "$id" := "$hit"."$id";
      ${changeMet(table, rejectReferences(table, onVariables(table, '"$id"'), "update"))}
      if "$results"["$nth"] = 'unchanged' then
        ${readRow(table)}
      end if;
      ${text}
      ${end('"$id"')}
      "$found"["$nth"] := "$text";
      -- Rows can be larger than the request, by any factor.
      "$size" := "$size" + octet_length("$text");
      if "$size" > ${bytes} then
        return rowhouse.reject_row("$id");
      end if;
    end loop;
  exception when integrity_constraint_violation then
    ${raiseAgain('"$nth"')}
  end;
  "$rows" := array_to_string("$found", ',');
  "$text" := ${resultsText('"$rows"')};
  if "$count" = 1 and ${isTooLarge("$rows", bytes)} or "$count" > 1 and ${isTooLarge("$text", bytes)} then
    return rowhouse.reject_row("$met"[1]);
  end if;
  if "$met" = '{}' then
    ${write.forget}
    return "$text";
  end if;
  ${write.complete}
  return "$text";
end`;
}

/** A person's rows have the person as their owner, whether the request says so or not. */
function fillOwners(table: ColumnSet): string {
  const { owner } = rightsOn(table);
  if (owner.length === 0) return "";
  const filled = owner.map((name) => `${quoteLiteral(name)}, ${WHO}`).join(", ");
  return `"$sought" := (select jsonb_agg("$e"."$body" || jsonb_build_object(${filled}) order by "$e"."$n")
    from jsonb_array_elements("$all") with ordinality as "$e" ("$body", "$n"));`;
}

/** Finds the rows that the caller reads. */
function findSeen(table: ColumnSet): string {
  const found = findExisting(table, '"$sought"');
  const visible = andVisible(table);
  if (visible === "") return found;
  return `${found}
      select coalesce(array_agg("$k"."$id" order by "$k"."$id"), '{}'), array_agg("$k"."$nth" order by "$k"."$id")
      into "$met", "$known" from rows from (unnest("$met"), unnest("$known")) as "$k" ("$id", "$nth")
      where exists (select from data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$k"."$id"')}${visible});`;
}
