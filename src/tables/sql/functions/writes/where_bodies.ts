/**
 * The bodies of functions that update and delete the rows that match conditions. They find the rows as the query function does, lock
 * them in the order of their ids, and compare them again: a row can have changed until it is locked. They keep only rows of the app, and
 * of a person rows that the person sees and may write, whatever was found: the count of a dry run is the count of the write.
 *
 * @see function_terms.ts for the parts
 * @see ../../../../db/code/tables/find.sql for the statement
 * @module
 */

import { quoteLiteral, SIGNALS } from "../../../../db/mod.ts";
import { DRY_IDS } from "../../../../std/limits.ts";
import {
  type FunctionSite,
  placeholdersOf,
  type ServedSet,
  setName,
  TOO_MANY_ROWS,
} from "../../../catalog/mod.ts";
import { isTooLarge, nameDeleted } from "../function_terms.ts";
import { type RuleName, WHO } from "../view_terms.ts";
import { changedOf } from "./changed_row_terms.ts";
import { beginWrite } from "./claim_terms.ts";
import {
  changeRow,
  declareChange,
  declareDeletes,
  deleteRows,
  lockRows,
  readChange,
  readRow,
  readTime,
} from "./row_writes.ts";
import { onVariables, rejectClosed, rejectReferences } from "./sent_terms.ts";

type WhereEndpoint = "update_found" | "delete_found";

export function updateWhereBody(table: ServedSet, site: FunctionSite): string {
  const { body, bytes } = placeholdersOf("update_found");
  const { text, end } = changedOf(table);
  const ended = end('"$id"');
  const changed = `${text}
        if ${isTooLarge("$text", bytes)} then
          return rowhouse.reject_row("$id");
        end if;`;
  return renderBody(table, site, {
    endpoint: "update_found",
    rule: "from",
    begin: `"$body" := ${body}::jsonb;
  ${readChange(table)}
  ${rejectClosed(table, false)}
  ${rejectReferences(table, onVariables(table, '"$id"'), "update")}`,
    lock: "no key update",
    declared: declareChange(table),
    // The new state of an unchanged row is compared with the rule too, as in an update of one row.
    write: `${readTime(table)}
  foreach "$id" in array "$ids" loop
    ${changeRow(table, { changed, unchanged: ended === "" ? "" : readRow(table) })}
    ${ended}
  end loop;`,
  });
}

export function deleteWhereBody(table: ServedSet, site: FunctionSite): string {
  return renderBody(table, site, {
    ...{ endpoint: "delete_found", rule: "delete", begin: "", lock: "update" },
    declared: declareDeletes(table),
    write: `${nameDeleted(table, site, `array_to_string("$ids", ',')`)}
  ${deleteRows(table)}`,
  });
}

type Parts = {
  readonly endpoint: WhereEndpoint;
  /** What a person's rows must fulfill. */
  readonly rule: RuleName;
  /** Rejects a request that no row can fulfill. */
  readonly begin: string;
  readonly lock: "update" | "no key update";
  readonly declared: string;
  /** Writes the rows of `"$ids"`. */
  readonly write: string;
};

function renderBody(
  table: ServedSet,
  site: FunctionSite,
  { endpoint, rule, begin, lock, declared, write }: Parts,
): string {
  const { app, proof, plan, values, limit, isPart, isDry } = placeholdersOf(endpoint);
  // A replay has no rows.
  const replay = '"$text"';
  const written = beginWrite(table, endpoint, site, { replay });
  const who = table.view === undefined ? "null" : WHO;
  const keepSeen = `"$ids" := rowhouse.keep_seen(${app}, ${who}, "$terms", '${rule}', "$ids");`;
  const findIds = (wanted: string, among = "null") => `select "$f"."ids" into "$ids" from find.page(
    ${app}, ${who}, "$terms", '${rule}', "$plan", "$values", ${wanted}, ${among}) as "$f";
  ${keepSeen}`;
  const counted = `concat('{"count":', cardinality("$ids"),
    case when ${isPart} then concat(',"hasMore":', "$hasMore"::text) end`;
  return `declare
  "$terms" constant jsonb := rowhouse.read_terms(${quoteLiteral(setName(table))}, 2::int2);
  "$plan" constant jsonb := ${plan}::jsonb;
  "$values" text[] := ${values};
  "$ids" uuid[];
  "$id" uuid;
  "$hasMore" bool;
  "$text" text;
  ${[declared, written.declared].join("\n  ")}
begin
  ${written.begin}
  ${begin}
  if "$plan" ? 'sets' then
    "$values" := rowhouse.find_referenced(${app}, ${proof}, "$plan" -> 'sets', "$values");
  end if;
  ${findIds(`${limit} + 1`)}
  "$hasMore" := cardinality("$ids") > ${limit};
  if "$hasMore" and not ${isPart} then
    raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}', detail = '${TOO_MANY_ROWS}';
  end if;
  "$ids" := "$ids"[:${limit}];
  if ${isDry} then
    return ${counted}, ',"ids":', to_json("$ids"[:${DRY_IDS}])::text, '}');
  end if;
  ${lockRows(table, lock)}
  if "$ids" <> '{}' then
    ${findIds('cardinality("$ids")', '"$ids"')}
  end if;
  ${write}
  "$text" := ${counted}, '}');
  ${written.complete}
  return "$text";
end`;
}
