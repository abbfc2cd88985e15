/**
 * The body of the function that creates rows, or updates those with the same values in a unique constraint.
 *
 * PostgreSQL finds a row by `on conflict`: this search is exact in every form of an index, also under row security, and leaves no
 * moment between the search and the insert. The insert only locks the rows that it meets, and notes their ids; then each is
 * updated by its id. So an unchanged row is never written.
 *
 * A list first creates the rows that it does not find, in the order of its keys. Then it locks the rows that exist, in the order of
 * their ids, as all writes of several rows do, and finds them again as above. So a write that waits for a key holds only rows that it
 * created, and one that waits for a row waits for no key: they wait for each other instead of deadlocking.
 *
 * What still collides (a row of other unique values that another upsert is creating, a row that is deleted in between) is done again
 * alone: upserts of one app and table share a lock, and a repetition holds it alone.
 *
 * @see function_terms.ts for the parts
 * @module
 */

import { quoteLiteral, quoteName } from "../../../../db/mod.ts";
import { type ColumnSet, type FunctionSite, placeholdersOf } from "../../../catalog/mod.ts";
import { qualify } from "../../../qualify.ts";
import { usingWho } from "../caller_terms.ts";
import { isTooLarge, ROW_TEXT, resultsText } from "../function_terms.ts";
import { andVisible, WHO } from "../view_terms.ts";
import { beginWrite } from "./claim_terms.ts";
import { insertMany } from "./create_bodies.ts";
import { READ_ERROR, writesAt } from "./node_writes.ts";
import { declareChange, lockRows, readTime } from "./row_writes.ts";
import { findExisting, readTarget } from "./upsert_index_terms.ts";
import { afterInsert, beforeInsert, declareUpsert, meetRow } from "./upsert_rows.ts";

/** A setting of the transaction: each proposed id that met a row, with the id of that row. */
const MET = quoteLiteral("rowhouse.met");
const ID_LENGTH = 36;
/** Each repetition waits for the other upserts, so that more of them are a fault. */
const MAX_REPEATS = 20;

/**
 * If a row is gone, its key is free, and waiting for the key would hold the locks: the list begins again without them, as after a
 * serialization failure.
 */
const GONE = "raise exception 'a row is gone' using errcode = '40001';";

const { app, ids, bodies, unique, indexes, sequence, bytes } = placeholdersOf("upsert");

/** The rows and their results, in the order of the ids. */
export function upsertBody(table: ColumnSet, site: FunctionSite): string {
  const part = `unnest("$order"["$done" + 1:"$done" + "$step"]) with ordinality as "$p" ("$nth", "$place")`;
  const write = beginWrite(table, "upsert", site, {});
  const { raised, raiseAgain } = writesAt(site);
  const isUnseen = andVisible(table) === "" ? "" : '"$isUnseen"';
  return `declare
  "$all" constant jsonb := ${bodies}::jsonb;
  "$count" constant int4 := cardinality(${ids});
  "$places" jsonb;
  "$form" int4;
  "$terms" text;
  "$rows" text;
  "$match" text;
  "$types" text;
  "$ids" uuid[];
  "$bodies" jsonb;
  "$texts" text[];
  "$size" int8;
  "$step" int4 := "$count";
  "$order" int4[];
  "$done" int4;
  "$failed" int4 := -1;
  "$isAlone" bool := false;
  "$isLast" bool;
  "$isTried" bool;
  "$met" uuid[];
  "$known" int4[];
  "$repeats" int4 := 0;
  "$found" text[];
  "$results" text[];
  "$id" uuid;
  "$nth" int4;
  "$one" record;
  "$hit" record;
  "$text" text;
  ${declareUpsert(table)}
  ${isUnseen === "" ? "" : `${isUnseen} bool;`}
  ${[raised, write.declared].join("\n  ")}
begin
  ${write.begin}
  ${readTarget(table, { unique, indexes })}
  "$places" := (select jsonb_object_agg("$p"."$id", "$p"."$nth")
    from unnest(${ids}) with ordinality as "$p" ("$id", "$nth"));
  loop
    begin
      "$done" := 0;
      "$order" := ${sequence};
      perform rowhouse.lock_upserts(${app}, ${quoteLiteral(table.name)}, "$isAlone");
      ${isUnseen === "" ? "" : `${isUnseen} := false;`}
      "$size" := 0;
      "$found" := array_fill(null::text, array["$count"]);
      "$results" := array_fill('created'::text, array["$count"]);
      "$isLast" := "$count" = 1;
      "$isTried" := false;
      "$met" := null;
      loop
        if "$count" > 1 then
          if "$met" is null then
            ${findExisting(table, '"$all"')}
          end if;
          "$isLast" := "$isTried" or cardinality("$met") = "$count";
          if "$isLast" then
            "$ids" := "$met";
            ${lockRows(table, "no key update", GONE)}
          end if;
          "$order" := array(select "$p"."$nth" from unnest(${sequence}) with ordinality as "$p" ("$nth", "$place")
            left join unnest("$known") as "$k" ("$nth") on "$k"."$nth" = "$p"."$nth"
            where "$found"["$p"."$nth"] is null and ("$isLast" or "$k"."$nth" is null) order by "$p"."$place");
        end if;
        while "$done" < cardinality("$order") loop
          select array_agg((${ids})["$p"."$nth"] order by "$p"."$place"),
            jsonb_agg("$all" -> ("$p"."$nth" - 1) order by "$p"."$place")
          into "$ids", "$bodies" from ${part};
          perform set_config(${MET}, '', true);
          ${beforeInsert(table)}
          execute ${renderInsert(table, '"$isLast"')}
          into "$ids", "$texts" using ${app}, "$ids", "$bodies"${usingWho(table)};
          ${afterInsert(table)}
          for "$one" in
            select ("$places" ->> "$p"."$id"::text)::int4 as "$nth", "$p"."$text"
            from rows from (unnest("$ids"), unnest("$texts")) as "$p" ("$id", "$text")
          loop
            "$found"["$one"."$nth"] := "$one"."$text";
          end loop;
          declare
            ${declareChange(table)}
          begin
          ${readTime(table)}
          for "$hit" in
            select ("$places" ->> left("$p"."$met", ${ID_LENGTH}))::int4 as "$nth",
              right("$p"."$met", ${ID_LENGTH})::uuid as "$id"
            from unnest(string_to_array(ltrim(current_setting(${MET}, true), ','), ',')) as "$p" ("$met")
          loop
            "$nth" := "$hit"."$nth";
            "$id" := "$hit"."$id";
            ${meetRow(table)}
            "$found"["$nth"] := "$text";
            -- Rows that exist can be larger than the request, by any factor.
            "$size" := "$size" + octet_length("$found"["$nth"]);
            if "$size" > ${bytes} then
              return rowhouse.reject_row("$id");
            end if;
          end loop;
          end;
          "$done" := "$done" + "$step";
        end loop;
        exit when "$isLast";
        "$isTried" := true;
        "$done" := 0;
        if exists (select from unnest("$order") as "$p" ("$nth") where "$found"["$p"."$nth"] is null) then
          "$met" := null;
        end if;
      end loop;
      exit;
    exception when integrity_constraint_violation or cardinality_violation or deadlock_detected or serialization_failure then
      ${READ_ERROR}
      "$isAlone" := true;
      if left("$state", 2) = '40' then
        "$repeats" := "$repeats" + 1;
        if "$repeats" > ${MAX_REPEATS} then
          raise;
        end if;
      elsif "$step" > 1 then
        -- PostgreSQL does not report the row.
        "$step" := 1;
      elsif ${isUnseen === "" ? "" : `not ${isUnseen} and `}"$repeats" < ${MAX_REPEATS} and ("$constraint" = any (${indexes}) or "$order"["$done" + 1] <> "$failed") then
        -- Another write can have stored the row since the search. PostgreSQL then reports another constraint of the row, or
        -- the same constraint in another index, while its form is changed.
        "$repeats" := "$repeats" + 1;
        "$failed" := "$order"["$done" + 1];
      else
        ${raiseAgain('"$order"["$done" + 1]')}
      end if;
    end;
  end loop;
  "$rows" := array_to_string("$found", ',');
  "$text" := ${resultsText('"$rows"')};
  -- A row on its own is sent without the rest.
  if "$count" = 1 and ${isTooLarge("$rows", bytes)} or "$count" > 1 and ${isTooLarge("$text", bytes)} then
    return rowhouse.reject_row((${ids})[1]);
  end if;
  ${write.complete}
  return "$text";
end`;
}

/**
 * The statement that inserts the rows, as an expression. PostgreSQL plans it for its index. If `isLast`, it locks and notes those that
 * exist.
 */
function renderInsert(table: ColumnSet, isLast: string): string {
  const [first] = table.columns;
  if (first === undefined) return "null";
  const column = quoteName(first.name);
  const noted = `set_config(${MET}, concat(current_setting(${MET}), ',', "excluded"."id", ':', "$t"."id"), true)`;
  const onConflict = `on conflict ("$terms") where "$rows" do update set ${column} = "$t".${column} where ${noted} is null`;
  const selected = `array_agg("$row"."id"), array_agg(${ROW_TEXT})`;
  const statement = withPerson(
    insertMany(table, selected, { ids: "$2", bodies: "$3", onConflict: `${onConflict}${ACTION}` }),
  );
  const [start = "", rest = ""] = qualify(statement).split('("$terms") where "$rows"');
  const [action = "", end = ""] = rest.split(ACTION);
  const chosen = `case when ${isLast} then ${quoteLiteral(action)} else ' do nothing' end`;
  return `concat(${quoteLiteral(`${start}(`)}, "$terms", ') where ', "$rows", ${chosen}, ${quoteLiteral(end)})`;
}

/** Marks the end of what happens on a conflict: always true, and no column has the name. */
const ACTION = ' and "$action"';

function withPerson(statement: string): string {
  return statement.replaceAll(/e?'(?:[^']|'')*'|"\$who"/gi, (part) => (part === WHO ? "$4" : part));
}
