/**
 * The body of the function that creates rows of several requests, each of which succeeds or fails independently.
 *
 * @module
 */
import { type ColumnSet, type FunctionSite, placeholdersOf, REJECTED } from "../catalog/mod.ts";
import { quoteLiteral } from "../db/mod.ts";
import { insertMany } from "./create_bodies.ts";
import {
  beginAs,
  CONCAT,
  declareLive,
  isTooLarge,
  ROW_TEXT,
  recordChanges,
  TEXT,
} from "./function_terms.ts";
import { idText } from "./write_terms.ts";

const FIELDS = ["constraint", "column", "table"] as const;
/** The default times of two rows differ by a microsecond, as if the rows were created one after the other. */
const OFFSET = `("$new"."$nth" operator(pg_catalog.*) '1 microsecond'::pg_catalog.interval)`;
const NOW = `("$now" operator(pg_catalog.+) ${OFFSET})`;

/**
 * Inserts all rows by one statement, and claims their idempotency keys. If a row violates a rule, or a key was used
 * before, creates the rows one by one instead. Returns a line for each row, in the order of the ids: its id, then the row's
 * text, a replay, or the error. A row that is too large, or that waits for a lock, undoes the whole group.
 */
export function createGroupBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids, bodies, bytes, claims } = placeholdersOf("create_group");
  const values = `pg_catalog.array_agg(${ROW_TEXT} order by "$row"."id") into "$rows"`;
  const insert = `${insertMany(table, values, NOW)};
${recordChanges(site, `select ${app}, ${quoteLiteral(table.name)}, "$new"."$id" from pg_catalog.unnest("$ids") as "$new" ("$id")`)}`;
  const claim = `(${claims})["$count"]`;
  return `declare
  "$all" pg_catalog.jsonb := ${bodies}::pg_catalog.jsonb;
  "$ids" pg_catalog.uuid[] := ${ids};
  "$bodies" pg_catalog.jsonb := "$all";
  "$count" pg_catalog.int4 := 0;
  "$now" pg_catalog.timestamptz := pg_catalog.now();
  "$rows" ${TEXT}[];
  "$lines" ${TEXT}[] := '{}';
  "$text" ${TEXT};
  "$state" ${TEXT};
${declareLive("create_group", site)}${FIELDS.map((name) => `  "$${name}" ${TEXT};\n`).join("")}begin
${beginAs(table, "create_group", site)}
  begin
    ${insert}    if ${claims} is not null and exists (
      select from rows from (pg_catalog.unnest(${claims}), pg_catalog.unnest(${ids}), pg_catalog.unnest("$rows"))
        as "$one" ("$claim", "$id", "$text")
      where case when "$one"."$claim" is not null then
        rowhouse.claim_key(${app}, ${proof}, "$one"."$claim", "$one"."$text", ${idText('"$one"."$id"')}) is not null end) then
      raise integrity_constraint_violation;
    end if;
    "$lines" := "$rows";
  exception when integrity_constraint_violation then
    while "$count" operator(pg_catalog.<) pg_catalog.cardinality(${ids}) loop
      "$bodies" := pg_catalog.jsonb_build_array("$all" operator(pg_catalog.->) "$count");
      "$count" := "$count" operator(pg_catalog.+) 1;
      "$ids" := array[(${ids})["$count"]];
      -- Another group can have begun in the same moment.
      "$now" := pg_catalog.clock_timestamp();
      "$text" := null;
      begin
        if ${claim} is not null then
          "$text" := rowhouse.claim_key(${app}, ${proof}, ${claim}, null, ${idText('"$ids"[1]')});
        end if;
        if "$text" is null then
          ${insert}          "$text" := "$rows"[1];
          if ${claim} is not null then
            perform rowhouse.complete_key(${app}, ${claim}, "$text");
          end if;
        end if;
      exception when integrity_constraint_violation then
        get stacked diagnostics "$state" = returned_sqlstate, "$constraint" = constraint_name,
          "$column" = column_name, "$table" = table_name;
        "$text" := '${REJECTED}'${CONCAT}pg_catalog.json_build_object('code', "$state", 'constraint_name', "$constraint",
          'column_name', "$column", 'table_name', "$table")::${TEXT};
      end;
      "$lines" := pg_catalog.array_append("$lines", "$text");
    end loop;
  end;
  foreach "$text" in array "$lines" loop
    if ${isTooLarge("$text", bytes)} then
      return rowhouse.reject_row((${ids})[1]);
    end if;
  end loop;
  return (select pg_catalog.string_agg(pg_catalog.concat("$one"."$id", "$one"."$line"), pg_catalog.chr(10) order by "$one"."$id")
    from rows from (pg_catalog.unnest(${ids}), pg_catalog.unnest("$lines")) as "$one" ("$id", "$line"));
end`;
}
