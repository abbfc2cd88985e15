/**
 * The bodies of the functions of related rows: rows by their ids, and the rows that refer to given rows, as an array of a JSON
 * text for each id. The functions of lists and of related rows call them by name, so no function contains another table. A text is null
 * if the rows up to it are larger than the caller's limit.
 *
 * @see ../../db/code/tables/related.sql
 * @module
 */

import { quoteLiteral, quoteName, SIGNALS } from "../../../db/mod.ts";
import { SQL } from "../../../kinds/mod.ts";
import { MAX_ROWS } from "../../../std/limits.ts";
import {
  type ColumnSet,
  type FunctionSite,
  placeholdersOf,
  queryColumns,
} from "../../catalog/mod.ts";
import { declareWho } from "./caller_terms.ts";
import { renderSortTerms, whoOf } from "./find_bodies.ts";
import { beginAs, isRow, type SetColumn } from "./function_terms.ts";
import { pickedMembers, readNumbers, referencesOfRow } from "./page_rows.ts";
import { renderSeen } from "./seen_rows.ts";
import { andVisible } from "./view_terms.ts";

/** Each row of the ids; null for an id without a row. */
export function relatedBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids } = placeholdersOf("related");
  const all = (value: string) => `array_agg("$t"."${value}" order by "$t"."$n")`;
  return `declare
  ${declareWho(table)}
  ${declareRelation("related")}
  "$found" uuid[];
  "$texts" text[];
  "$refs" uuid[];
begin
  ${beginAs(table, "related", site)}
  if (cardinality(${ids}) <= ${MAX_ROWS}) is not true then
    ${TOO_MANY}
  end if;
  select ${all("$found")}, ${all("$text")}, ${all("$refs")}
  into "$found", "$texts", "$refs" from (${readTexts(table, {
    ids: `unnest(${ids}) with ordinality as "$i" ("$key", "$n") left join lateral`,
    on: " on true",
  })}) as "$t";
  return rowhouse.join_members("$found", "$texts",
    rowhouse.related_members(${app}, ${proof}, "$relation" -> 'related', "$found", "$refs"))::text;
end`;
}

/** The text of each row that the caller sees, null after too many bytes, with its place and its references. */
function readTexts(table: ColumnSet, { ids, on }: { ids: string; on: string }): string {
  const { app } = placeholdersOf("related");
  const sizes = queryColumns(table).flatMap((column, index) => {
    const size = renderSize(column);
    return size === undefined
      ? []
      : `case when ${index + 1} = any ("$picked") then ${size} else 0 end`;
  });
  return `
    select "$t".*, "$t"."id" as "$found", ${referencesOfRow(table)} as "$refs",
      case when "$t"."$size" <= "$bytes" then array_to_string(array[
        ${pickedMembers(table).join(",\n        ")}], ',') end as "$text"
    from (
      select "$i".*, "$t".*, sum(${["0::int8", ...sizes].join(" + ")}) over (rows unbounded preceding) as "$size"
      from ${ids} (
        select * from data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$i"."$key"')}${andVisible(table)} offset 0
      ) as "$t"${on}) as "$t"`;
}

/** The first children of each id, in an order. */
export function childrenBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids } = placeholdersOf("children_of");
  const all = (value: string) => `array_agg("$t"."${value}" order by "$t"."$n")`;
  const found = [
    ...[app, ids, quoteLiteral(`data.${quoteName(table.name)}`), renderSeen(table)],
    ...[renderSortTerms(table), '"$relation"', whoOf(table)],
  ];
  return `declare
  ${declareWho(table)}
  ${declareRelation("children_of")}
  "$limit" constant int4 := ("$relation" ->> 'limit')::int4;
  "$found" uuid[];
  "$owners" int4[];
  "$longer" int4[];
  "$texts" text[];
  "$refs" uuid[];
begin
  ${beginAs(table, "children_of", site)}
  if ("$limit" >= 0 and cardinality(${ids}) * "$limit" <= ${MAX_ROWS}
    and cardinality(${ids}) <= ${MAX_ROWS}) is not true then
    ${TOO_MANY}
  end if;
  select "$f"."owners", "$f"."ids", "$f"."longer" into "$owners", "$found", "$longer"
  from find.children(${found.join(", ")}) as "$f";
  select ${all("$owner")}, ${all("$found")}, ${all("$text")}, ${all("$refs")}
  into "$owners", "$found", "$texts", "$refs" from (${readTexts(table, {
    ids: `rows from (unnest("$found"), unnest("$owners")) with ordinality as "$i" ("$key", "$owner", "$n") cross join lateral`,
    on: "",
  })}) as "$t";
  "$texts" := rowhouse.join_members("$found", "$texts",
    rowhouse.related_members(${app}, ${proof}, "$relation" -> 'related', "$found", "$refs"));
  return rowhouse.join_children(cardinality(${ids}), "$owners", "$texts", "$longer")::text;
end`;
}

const TOO_MANY = `raise exception 'too many rows' using errcode = '${SIGNALS.planInvalid}';`;

function declareRelation(endpoint: "related" | "children_of"): string {
  return `"$relation" constant jsonb := ${placeholdersOf(endpoint).relation}::jsonb;
  "$bytes" constant int8 := ("$relation" ->> 'bytes')::int8;
  "$picked" constant int4[] := ${readNumbers("$relation", "picked")};`;
}

/** The bytes of an unbounded value, without decompression. */
function renderSize({ name, kind }: SetColumn): string | undefined {
  const { size } = SQL[kind];
  return size && `coalesce(${size}("$t".${quoteName(name)}), 0)::int8`;
}
