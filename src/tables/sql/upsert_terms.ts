/** The locks with which a list of upserts begins, so that it does not deadlock with other writes. @module */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { type ColumnSet, placeholdersOf } from "../catalog/mod.ts";
import { qualify } from "../qualify.ts";
import { isRow } from "./function_terms.ts";

/**
 * Locks the rows of a list that exist, by the variables of `upsertBody()`. Each lock is a statement of its own: the order of the ids is
 * then the order of the locks.
 */
export function lockExisting(table: ColumnSet): string {
  if (table.columns.length === 0) return "";
  const { app } = placeholdersOf("upsert");
  const rows = `data.${quoteName(table.name)} as "$t"`;
  // The limit makes PostgreSQL search the index for each row of the list, whatever its statistics.
  const statement = `select array_agg("$met"."id" order by "$met"."id")
    from (select "$values".* "$keys" from jsonb_to_recordset($2) as "$values" ("$types") offset 0) as "$own"
    cross join lateral (select "$t"."id" from ${rows} where "$t"."app_id" = $1 and "$rows" and "$match" limit 1) as "$met"`;
  const parts = qualify(statement)
    .split(/("\$(?:keys|types|rows|match)")/)
    .map((part, index) => (index % 2 === 0 ? quoteLiteral(part) : part));
  return `if "$count" > 1 then
    execute concat(${parts.join(", ")}) into "$ids" using ${app}, "$all";
    foreach "$id" in array coalesce("$ids", '{}') loop
      perform from ${rows} where ${isRow(app, '"$id"')} for no key update;
    end loop;
  end if;`;
}
