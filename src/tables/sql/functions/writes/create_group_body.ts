/**
 * The body of the function that creates rows of several requests, each of which succeeds or fails independently.
 *
 * @see function_terms.ts for its parts
 * @module
 */

import { SHORT_WAIT } from "../../../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  placeholdersOf,
  REJECTED,
} from "../../../catalog/mod.ts";
import { callerOf, declareWho } from "../caller_terms.ts";
import { beginAs, isTooLarge } from "../function_terms.ts";
import { replayOf } from "./claim_terms.ts";
import { insertNew } from "./create_bodies.ts";
import { declareField } from "./new_row_terms.ts";
import { READ_ERROR, writesAt } from "./node_writes.ts";

/** A row that waits for a lock must not delay its group. After the timeout, the process sends each row individually. */
const BRIEFLY = `perform set_config('lock_timeout', '${SHORT_WAIT}', true);`;

/** The default times of two rows differ by a microsecond, as if the rows were created one after the other. */
const OFFSET = `("$new"."$nth" * '1 microsecond'::interval)`;
const NOW = `("$now" + ${OFFSET})`;

/**
 * Inserts all rows by one statement, and claims their idempotency keys. If a row violates a rule, or a key was used
 * before, creates the rows one by one instead. Returns a line for each row, in the order of the ids: its id, then the row's
 * text, a replay, or the error. A row that is too large, or that waits for a lock, undoes the whole group.
 */
export function createGroupBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids, bodies, bytes, claims } = placeholdersOf("create_group");
  const { toClaim, toShort } = callerOf(table);
  const toValues = (text: string) => `array_agg(${text} order by "$row"."id") into "$rows"`;
  const insert = `${insertNew(table, toValues, { now: NOW })};`;
  const sent = `(${claims})["$count"]`;
  const claim = toClaim(sent);
  const replay = replayOf(table);
  return `declare
  "$all" jsonb := ${bodies}::jsonb;
  "$ids" uuid[] := ${ids};
  "$bodies" jsonb := "$all";
  "$count" int4 := 0;
  "$now" timestamptz := now();
  "$rows" text[];
  "$lines" text[] := '{}';
  "$text" text;
  ${writesAt(site).raised}
  ${declareWho(table)}
  ${declareField(table)}
begin
  ${beginAs(table, "create_group")}
  ${BRIEFLY}
  begin
    ${insert}
    if ${claims} is not null and exists (
      select from rows from (unnest(${claims}), unnest(${ids}), unnest("$rows"))
        as "$one" ("$claim", "$id", "$text")
      where case when "$one"."$claim" is not null then
        rowhouse.claim_key(${app}, ${proof}, ${toClaim('"$one"."$claim"')}, "$one"."$text", ${toShort('"$one"."$id"')}) is not null end) then
      raise integrity_constraint_violation;
    end if;
    "$lines" := "$rows";
  exception when integrity_constraint_violation then
    while "$count" < cardinality(${ids}) loop
      "$bodies" := jsonb_build_array("$all" -> "$count");
      "$count" := "$count" + 1;
      "$ids" := array[(${ids})["$count"]];
      -- Another group can have begun in the same moment.
      "$now" := clock_timestamp();
      "$text" := null;
      begin
        if ${sent} is not null then
          "$text" := rowhouse.claim_key(${app}, ${proof}, ${claim}, null, ${toShort('"$ids"[1]')});
          ${replay === '"$text"' ? "" : `"$text" := case when "$text" is not null then ${replay} end;`}
        end if;
        if "$text" is null then
          ${insert}
          "$text" := "$rows"[1];
          if ${sent} is not null then
            perform rowhouse.complete_key(${app}, ${claim}, "$text");
          end if;
        end if;
      exception when integrity_constraint_violation then
        ${READ_ERROR}
        "$text" := '${REJECTED}' || json_build_object('code', "$state", 'constraint_name', "$constraint",
          'column_name', "$column", 'table_name', "$table")::text;
      end;
      "$lines" := array_append("$lines", "$text");
    end loop;
  end;
  foreach "$text" in array "$lines" loop
    if ${isTooLarge("$text", bytes)} then
      return rowhouse.reject_row((${ids})[1]);
    end if;
  end loop;
  return (select string_agg(concat("$one"."$id", "$one"."$line"), chr(10) order by "$one"."$id")
    from rows from (unnest(${ids}), unnest("$lines")) as "$one" ("$id", "$line"));
end`;
}
