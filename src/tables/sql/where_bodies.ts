/**
 * The bodies of functions that update and delete the rows that match conditions. They find the rows as the query function does, lock
 * them in the order of their ids, and compare them again: a row can have changed until it is locked. A person's functions find only
 * rows that the person sees and may write, so that the count of a dry run is the count of the write.
 *
 * @see function_terms.ts for the parts
 * @see query_body.ts for the statement
 * @module
 */

import { quoteName, SIGNALS } from "../../db/mod.ts";
import { DRY_IDS } from "../../std/limits.ts";
import {
  type FunctionSite,
  placeholdersOf,
  referenceColumns,
  type ServedSet,
  TOO_MANY_ROWS,
} from "../catalog/mod.ts";
import { sqlType } from "../plan/step.ts";
import {
  beginAs,
  claimKey,
  declareListens,
  input,
  isRow,
  isTooLarge,
  nameDeleted,
  ROW_TEXT,
  variable,
} from "./function_terms.ts";
import {
  declareQuery,
  fillSets,
  readVisits,
  readWork,
  renderQueryStatement,
} from "./query_body.ts";
import { usingWho } from "./seen_rows.ts";
import { assignments, isChanged, isUpdated } from "./update_bodies.ts";
import { declareWho, type RuleName } from "./view_terms.ts";
import {
  CHANGED,
  changedOf,
  claimOf,
  endChange,
  onVariables,
  rejectClosed,
  rejectReferences,
} from "./view_write_terms.ts";

type WhereEndpoint = "update_where" | "delete_where";

export function updateWhereBody(table: ServedSet, site: FunctionSite): string {
  const { app, body, bytes } = placeholdersOf("update_where");
  const rows = `data.${quoteName(table.name)} as "$t"`;
  const setsTime = table.columns.some(isUpdated);
  const declared = table.columns.map(
    (column, index) => `${variable(index)} ${sqlType(table, column)} := ${input(table, column)};`,
  );
  const isOfView = table.view !== undefined;
  const found = changedOf(table);
  // The new state of an unchanged row is compared with the rule too, as in an update of one row.
  const unchanged = `else
      select ${found.values} into ${found.variables} from ${rows} where ${isRow(app, '"$id"')};
    end if;
    ${endChange(table, '"$id"')}`;
  const write = `${setsTime ? '"$now" := clock_timestamp();' : ""}
  foreach "$id" in array "$ids" loop
    update ${rows} set
      ${assignments(table).join(",\n      ")}
    where ${isRow(app, '"$id"')} and ${isChanged(table)}
    returning ${found.values} into ${found.variables};
    if found then
      ${isOfView ? "" : `"$text" := ${ROW_TEXT};`}
      if ${isTooLarge("$text", bytes)} then
        return rowhouse.reject_row("$id");
      end if;
    ${isOfView ? unchanged : "end if;"}
  end loop;`;
  return renderBody(table, site, {
    endpoint: "update_where",
    rule: "from",
    begin: `${rejectClosed(table, false)}
  ${rejectReferences(table, onVariables(table, '"$id"'), "update")}`,
    lock: "for no key update",
    declared: [
      `"$body" jsonb := ${body}::jsonb;`,
      ...declared,
      ...(setsTime ? ['"$changed" constant bool := true;', '"$now" timestamptz;'] : []),
      ...(table.columns.length === 0 ? [] : [isOfView ? CHANGED.declared : '"$row" record;']),
    ],
    write: table.columns.length === 0 ? "" : write,
  });
}

export function deleteWhereBody(table: ServedSet, site: FunctionSite): string {
  const { app } = placeholdersOf("delete_where");
  const remove = `delete from data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$id"')};`;
  const isReferring = referenceColumns(table).length > 0;
  const once = `foreach "$id" in array "$ids" loop
    ${remove}
  end loop;`;
  // A row that another of the rows references is deleted after it. Each pass has the other direction.
  const passes = `"$left" := "$ids";
  loop
    "$blocked" := '{}'::uuid[];
    foreach "$id" in array "$left" loop
      begin
        ${remove}
      exception when integrity_constraint_violation then
        "$blocked" := array_prepend("$id", "$blocked");
      end;
    end loop;
    exit when "$blocked" = '{}';
    if cardinality("$blocked") = cardinality("$left") then
      "$id" := "$blocked"[1];
      ${remove}
    end if;
    "$left" := "$blocked";
  end loop;`;
  return renderBody(table, site, {
    endpoint: "delete_where",
    rule: "delete",
    begin: "",
    lock: "for update",
    declared: isReferring ? ['"$left" uuid[];', '"$blocked" uuid[];'] : [],
    write: `${nameDeleted(table, site, `array_to_string("$ids", ',')`)}
  ${isReferring ? passes : once}`,
  });
}

const SORT = `"$ids" := array(
    select "$one"."$id" from unnest("$ids") as "$one" ("$id") order by "$one"."$id");`;

type Parts = {
  readonly endpoint: WhereEndpoint;
  /** What a person's rows must fulfill. */
  readonly rule: RuleName;
  /** Rejects a request that no row can fulfill. */
  readonly begin: string;
  readonly lock: string;
  readonly declared: readonly string[];
  /** Writes the rows of `"$ids"`. */
  readonly write: string;
};

function renderBody(
  table: ServedSet,
  site: FunctionSite,
  { endpoint, rule, begin, lock, declared, write }: Parts,
): string {
  const { app, proof, plan, values, limit, isPart, isDry, ...sent } = placeholdersOf(endpoint);
  const { claim, ...claimed } = claimOf(table, sent.claim);
  const find = (limits: string) => `execute ${renderQueryStatement(table, rule)}
  into "$ids", "$cut"
  using ${app}, "$values", ${limits}, ${readWork(table)}${usingWho(table)};
  if "$cut" is not null then
    raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}', detail = "$cut";
  end if;`;
  const counted = `concat('{"count":', cardinality("$ids"),
    case when ${isPart} then concat(',"hasMore":', "$hasMore"::text) end`;
  return `declare
  ${declareQuery({ plan, values })}
  "$ids" uuid[];
  "$id" uuid;
  "$cut" text;
  "$hasMore" bool;
  "$text" text;
  ${[...declared, declareWho(table), claimed.declared, declareListens(endpoint, site)].join("\n  ")}
begin
  ${beginAs(table, endpoint, site)}
  ${claimed.read}
  ${claimKey({ app, proof, claim, response: "null", short: "null" })}
  ${begin}
  ${fillSets(table, { app, proof })}
  ${find(`("$plan" ->> 'limit')::int4 + 1, ${readVisits(table)}`)}
  "$hasMore" := coalesce(cardinality("$ids"), 0) > ${limit};
  if "$hasMore" and not ${isPart} then
    raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}', detail = '${TOO_MANY_ROWS}';
  end if;
  ${SORT}
  "$ids" := "$ids"[:${limit}];
  if ${isDry} then
    return ${counted}, ',"ids":', to_json("$ids"[:${DRY_IDS}])::text, '}');
  end if;
  -- Each lock is a statement of its own: the order of the ids is then the order of the locks in every plan.
  foreach "$id" in array "$ids" loop
    perform from data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$id"')} ${lock};
  end loop;
  if "$ids" <> '{}' then
    "$plan" := jsonb_set("$plan" -> 'again', '{in}', jsonb_build_array(jsonb_build_array(cardinality("$values") + 1)));
    "$values" := array_append("$values", array_to_string("$ids", ','));
    ${find(`cardinality("$ids"), cardinality("$ids")`)}
    ${SORT}
  end if;
  ${write}
  "$text" := ${counted}, '}');
  if ${claim} is not null then
    perform rowhouse.complete_found_key(${app}, ${claim}, "$text");
  end if;
  return "$text";
end`;
}
