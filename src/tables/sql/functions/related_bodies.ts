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
import { isReadable } from "../../../schema/mod.ts";
import { MAX_ROWS } from "../../../std/limits.ts";
import {
  type ColumnSet,
  type FunctionSite,
  placeholdersOf,
  queryColumns,
} from "../../catalog/mod.ts";
import { sqlType } from "../../plan/step.ts";
import { qualify } from "../../qualify.ts";
import { declareWho, usingWho } from "./caller_terms.ts";
import { beginAs, isRow, type SetColumn, startOf } from "./function_terms.ts";
import { memberOf, pickedMembers, referencesOfRow } from "./page_rows.ts";
import { renderSeen } from "./seen_rows.ts";
import { andVisible } from "./view_terms.ts";

/** Each row of the ids; null for an id without a row. */
export function relatedBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids } = placeholdersOf("related");
  const sizes = queryColumns(table).flatMap((column, index) => {
    const size = renderSize(column);
    return size === undefined
      ? []
      : `case when ${index + 1} = any ("$picked") then ${size} else 0 end`;
  });
  const all = (value: string) => `array_agg("$t"."${value}" order by "$t"."$n")`;
  return `declare
  ${declareWho(table)}
  ${declareRelation("related")}
  "$picked" constant int4[] := array(select "$p"."$v"::int4
    from jsonb_array_elements_text("$relation" -> 'picked') as "$p" ("$v"));
  "$found" uuid[];
  "$texts" text[];
  "$refs" uuid[];
begin
  ${beginAs(table, "related", site)}
  if (cardinality(${ids}) <= ${MAX_ROWS}) is not true then
    ${TOO_MANY}
  end if;
  select ${all("$found")}, ${all("$text")}, ${all("$refs")}
  into "$found", "$texts", "$refs" from (
    select "$t"."$n", "$t"."id" as "$found", ${referencesOfRow(table)} as "$refs",
      case when "$t"."$size" <= "$bytes" then array_to_string(array[
        ${pickedMembers(table).join(",\n        ")}], ',') end as "$text"
    from (
      select "$i"."$n", "$t".*, sum(${["0::int8", ...sizes].join(" + ")}) over (rows unbounded preceding) as "$size"
      from unnest(${ids}) with ordinality as "$i" ("$key", "$n") left join lateral (
        select * from data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$i"."$key"')}${andVisible(table)} offset 0
      ) as "$t" on true) as "$t") as "$t";
  return rowhouse.join_members("$found", "$texts",
    rowhouse.related_members(${app}, ${proof}, "$relation" -> 'related', "$found", "$refs"))::text;
end`;
}

/** The first children of each id, in the order of an index that begins with the reference. */
export function childrenBody(table: ColumnSet, site: FunctionSite): string {
  const { app, proof, ids } = placeholdersOf("children_of");
  const columns = queryColumns(table);
  const texts = (list: readonly (string | undefined)[]) =>
    `array[${list.map((text) => (text === undefined ? "null" : quoteLiteral(text))).join(", ")}]::text[]`;
  const parts = columns.map(({ name, kind }) => {
    const part = SQL[kind].parts;
    const column = `"$t".${quoteName(name)}`;
    return { start: startOf({ name, kind }), rest: part?.rest?.render(column), part };
  });
  const targets = [
    ...columns.map(({ name }) => `"$t".${quoteName(name)}`),
    ...parts.map(({ start }) => start),
    ...parts.map(({ rest }) => rest),
  ];
  const types = [
    ...columns.map((column) => sqlType(table, column)),
    ...parts.map(({ part }) => part?.start.type),
    ...parts.map(({ part }) => part?.rest?.type),
  ];
  const list = `${texts(targets)},
    ${texts(types)},
    ${texts(columns.map((column) => qualify(memberOf(column))))},
    ${texts(columns.map(renderSize).map((size) => size && qualify(size)))},
    ${quoteLiteral(qualify(referencesOfRow(table)))}, ${describeRelation(table)})`;
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
  execute ${renderChildrenStatement(table, list)}
  into "$owners", "$found", "$texts", "$refs", "$longer"
  using ${app}, ${ids}, "$limit", "$bytes", "$relation" ->> 'nulls'${usingWho(table)};
  "$texts" := rowhouse.join_members("$found", "$texts",
    rowhouse.related_members(${app}, ${proof}, "$relation" -> 'related', "$found", "$refs"));
  return rowhouse.join_children(cardinality(${ids}), "$owners", "$texts", "$longer")::text;
end`;
}

function renderChildrenStatement(table: ColumnSet, list: string): string {
  if (table.view === undefined)
    return `rowhouse.children_statement(${quoteLiteral(`data.${quoteName(table.name)}`)},
    ${list}`;
  const { source, seen } = renderSeen(table);
  return `rowhouse.view_children_statement(${source}, ${seen},
    ${list}`;
}

/** The relation, for a person with whether the person sees all children of a parent that the person sees. */
function describeRelation(table: ColumnSet): string {
  const { view } = table;
  if (view === undefined) return '"$relation"';
  const numbers = queryColumns(table).flatMap(({ name }, index) => {
    const isInherited = view.read?.some((alternative) => {
      const [[column, match] = [], ...others] = Object.entries(alternative);
      return column === name && others.length === 0 && match !== undefined && isReadable(match);
    });
    return isInherited ? [index + 1] : [];
  });
  return `"$relation" || jsonb_build_object('areSeen',
    ("$relation" -> 'walk' ->> 0)::int4 = any (array[${numbers.join(", ")}]::int4[]))`;
}

const TOO_MANY = `raise exception 'too many rows' using errcode = '${SIGNALS.planInvalid}';`;

function declareRelation(endpoint: "related" | "children_of"): string {
  return `"$relation" constant jsonb := ${placeholdersOf(endpoint).relation}::jsonb;
  "$bytes" constant int8 := ("$relation" ->> 'bytes')::int8;`;
}

/** The bytes of an unbounded value, without decompression. */
function renderSize({ name, kind }: SetColumn): string | undefined {
  const { size } = SQL[kind];
  return size && `coalesce(${size}("$t".${quoteName(name)}), 0)::int8`;
}
