/**
 * The body of the walk function: pages in the order of an index between two positions, with static statements. The finder of the table
 * finds where the rows are past row security, except in the order of ids; they are read there under row security, and for a person
 * with the rule, in the same snapshot. It never reads more rows than the page and the first row of the next page.
 *
 * The finder does not know the rules of people. So both positions must have the values of an alternative of the rule, or the walk is of
 * the rows of the rule: for others it is not asked, and no response tells of a row that the person does not see.
 *
 * @see ../../../db/code/tables/finders.sql for the statements of the finder
 * @see page_rows.ts for the rows and the envelope
 * @module
 */

import { FOUND_ROW_BYTES, FOUND_ROWS, quoteLiteral, quoteName, SIGNALS } from "../../../db/mod.ts";
import { isPerson, SQL } from "../../../kinds/mod.ts";
import { type Alternative, type Match, ME } from "../../../schema/mod.ts";
import {
  placeholdersOf,
  queryColumns,
  type ServedSet,
  setName,
  type Walk,
  type WalkColumn,
} from "../../catalog/mod.ts";
import { callerOf, declareWho } from "./caller_terms.ts";
import { digestFinder, finderOf, hasFinder, toTerms } from "./finder.ts";
import { beginAs, isRow, outputs, rowSize } from "./function_terms.ts";
import { pickedRow, referencesOfRow } from "./page_rows.ts";
import {
  listRuleWalks,
  ROW_STATE,
  type RuleWalk,
  renderBuilt,
  renderMergedIds,
} from "./seen_walks_terms.ts";
import { andVisible, isVisible, WHO } from "./view_terms.ts";

const WALK = placeholdersOf("walk");

/** As a query: the tag of the page, followed by the rows unless the caller has that tag. Between them is what identifies the request. */
export function walkBody(table: ServedSet): string {
  const { app, proof, index, isDescending, start, stop, nulls, limit, picked, order, cursor } =
    WALK;
  const { bytes, known, inline } = WALK;
  const keys = renderKeys(table);
  const rows = `data.${quoteName(table.name)} as "$t"`;
  const isNext = `"$i"."$n" > ${limit}`;
  const size = rowSize(table, "$t");
  const isSeen = listSeen(table);
  const asked = [app, index, isDescending, start, stop, nulls, `${limit} + 1`].join(", ");
  const finds =
    isSeen === undefined
      ? ""
      : `elsif ${isSeen} then
    "$tids" := ${finderOf(table)}(${asked});
  `;
  const checked = [index, isDescending, limit, picked, order, cursor, bytes, known];
  const ended = [
    ...[app, proof, quoteLiteral(setName(table)), callerOf(table).person],
    ...[index, isDescending, start, stop, nulls, limit, picked, order, cursor, bytes],
    ...[known, inline, '"$ids", "$states", "$size", "$refs", "$keys", "$texts"'],
  ];
  return `-- Finder ${digestFinder(table)}
declare
  ${declareWho(table)}
  "$isWhole" constant bool := cardinality(${picked}) = 0 and strpos(${cursor}, E'\\n') = 0;
  "$isShort" bool;
  "$tids" tid[];
  "$ids" uuid[];
  "$states" bytea;
  "$size" int8;
  "$refs" uuid[];
  "$keys" text[];
  "$texts" text[];
begin
  ${beginAs(table, "walk")}
  "$isShort" := rowhouse.begin_walk(${checked.join(", ")});
  ${rejectUnbuilt(table)}
  if ${index} = '' then
    ${
      hasWalkById(table)
        ? `if ${isDescending} then
      ${findById(table, true)};
    else
      ${findById(table, false)};
    end if;`
        : "null;"
    }
  ${finds}end if;
  if "$tids" is null then
    raise exception 'no such walk' using errcode = '${SIGNALS.indexMissing}';
  end if;
  "$isShort" := "$isShort" and cardinality("$tids") <= ${FOUND_ROWS + 1};
  select array_agg("$t"."id"), string_agg("$t"."$state", ''::bytea), coalesce(sum("$t"."$size"), 0),
    array_agg("$t"."$refs"), min("$t"."$keys"), array_agg("$t"."$text")
  into "$ids", "$states", "$size", "$refs", "$keys", "$texts" from (
    select "$t".* from unnest("$tids") with ordinality as "$i" ("$tid", "$n") cross join lateral (
      select "$t"."id", ${ROW_STATE} as "$state", ${size} as "$size", ${referencesOfRow(table)} as "$refs",
        case when ${isNext} then ${keys} end as "$keys",
        case when "$isShort" and "$i"."$n" <= ${limit} and ${size} < ${FOUND_ROW_BYTES} then case when "$isWhole" then row_to_json("$o")::text
          else ${pickedRow(table, picked)} end end as "$text"
      from ${rows} cross join lateral (select ${outputs(table)}) as "$o"
      where "$t"."ctid" = "$i"."$tid" and "$t"."app_id" = ${app}${andVisible(table)} offset 0) as "$t" order by "$i"."$n") as "$t";
  return rowhouse.end_walk(${ended.join(", ")});
end`;
}

function hasWalkById(table: ServedSet): boolean {
  return isVisible(table) === "true" || exactWalks(table) !== undefined;
}

/** Finds the rows between two positions in the order of ids, under row security. */
function findById(table: ServedSet, isDescending: boolean): string {
  const { app, start, stop, limit } = WALK;
  const merged = exactWalks(table);
  const [from, to, way] = isDescending ? ["<=", ">=", " desc"] : [">=", "<=", ""];
  const first = `(${start})[1]::uuid`;
  const rows = `from data.${quoteName(table.name)} as "$t"`;
  const found =
    merged === undefined
      ? `select "$t"."ctid", "$t"."id" ${rows} where "$t"."app_id" = ${app}
        and "$t"."id" ${from} ${first} order by "$t"."id"${way} limit ${limit} + 1`
      : `select "$t"."ctid", "$i"."id" from (
          ${renderMergedIds(table, merged, { start: first, isDescending, limit: `${limit} + 1` })}) as "$i"
        cross join lateral (select "$t"."ctid" ${rows} where ${isRow(app, '"$i"."id"')} offset 0) as "$t"`;
  return `"$tids" := array(select "$v"."ctid" from (${found}) as "$v" where "$v"."id" ${to} (${stop})[1]::uuid)`;
}

/** The values of a cursor in a row: of the columns of indexes, by the numbers of the order. */
function renderKeys(table: ServedSet): string {
  const indexed = new Set(table.walks.flatMap(({ columns }) => columns.map(({ name }) => name)));
  const cases = queryColumns(table).flatMap(({ kind, name }, at) => {
    const value = `"$t".${quoteName(name)}`;
    return indexed.has(name)
      ? [`when "$k"."$v" = ${at + 1} then ${SQL[kind].cursor?.(value) ?? `${value}::text`}`]
      : [];
  });
  return `array(select case ${cases.join(" ") || "when false then ''"} end
      from unnest(${WALK.order}) with ordinality as "$k" ("$v", "$n") order by "$k"."$n")`;
}

/** The condition that a page along an index has only rows that the caller sees; `undefined`: no page has. */
function listSeen(table: ServedSet): string | undefined {
  if (isVisible(table) === "true") return hasFinder(table) ? "true" : undefined;
  const proofs = table.walks.flatMap((walk) =>
    (table.view?.read ?? []).flatMap((alternative) => {
      const proof = proveAlternative(table, walk, alternative);
      return proof === undefined
        ? []
        : [`(${WALK.index} = ${quoteLiteral(walk.index)} and ${proof})`];
    }),
  );
  return proofs.length === 0 ? undefined : `(${proofs.join(" or ")}) is true`;
}

/** Whether every row between the positions fulfills the alternative. */
function proveAlternative(
  table: ServedSet,
  { columns, hasNulls }: Walk,
  alternative: Alternative,
): string | undefined {
  const { start, stop, nulls } = WALK;
  const matches = Object.entries(alternative);
  const [only, ...others] = matches;
  if (only?.[1] === null && others.length === 0)
    return hasNulls && columns[0]?.name === only[0] ? `${start} is null` : undefined;
  const terms = columns.flatMap((column) =>
    toTerms(table, column).map((_, part) => ({ column, part })),
  );
  const values = matches.map(([name, match]) => {
    const column = columns.find((known) => known.name === name);
    return column === undefined ? undefined : toTexts(column, match);
  });
  if (values.includes(undefined)) return undefined;
  const compared = matches.flatMap(([name], at) =>
    (values[at] ?? []).map((text, part) => ({
      text,
      place: terms.findIndex((term) => term.column.name === name && term.part === part) + 1,
    })),
  );
  const most = Math.max(...compared.map(({ place }) => place));
  return [
    `${nulls} is null and (${start})[1:${most}] = (${stop})[1:${most}]`,
    ...compared.map(({ place, text }) => `(${start})[${place}] = ${text}`),
  ].join(" and ");
}

/** A value of a rule as the texts of the terms of its column in a position; `undefined`: no range has exactly its rows. */
function toTexts({ kind }: WalkColumn, match: Match): string[] | undefined {
  if (match === ME && isPerson({ kind })) return [`${WHO}::text`];
  if (typeof match === "object") return undefined;
  const { parts } = SQL[kind];
  const text = String(match);
  if (parts === undefined) return [`${quoteLiteral(text)}::text`];
  if (!parts.isWhole(text)) return undefined;
  return parts.toParts(text, () => "").map((part) => `${quoteLiteral(part)}::text`);
}

/** The walks of a rule, if they have only rows that the person reads. */
function exactWalks(table: ServedSet): readonly RuleWalk[] | undefined {
  const walks = listRuleWalks(table, WHO);
  return walks?.every(({ isExact }) => isExact) === true ? walks : undefined;
}

/** Fails for a walk by id if an index of the rule is not built yet: the statements would sort all rows with its values. */
function rejectUnbuilt(table: ServedSet): string {
  const isBuilt = renderBuilt((exactWalks(table) ?? []).map(({ index }) => index));
  if (isBuilt === "") return "";
  return `if ${WALK.index} = '' and ${isBuilt} is not true then
    raise exception 'no such walk' using errcode = '${SIGNALS.indexMissing}';
  end if;`;
}
