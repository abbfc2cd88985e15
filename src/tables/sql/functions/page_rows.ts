/**
 * The end of a body that has found the ids of a page: it builds the rows within the byte limits, the cursor of the next page and
 * the envelope. Its variables are those of {@linkcode PAGE_VARIABLES}; the body sets `$ids`, `$returned`, `$size`, and the request's
 * `$limit`, `$offset` and `$picked`, and for related rows `$related` and the references of each row.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import { SQL } from "../../../kinds/mod.ts";
import { SINGLE_STEP_BYTES } from "../../../std/limits.ts";
import { type ColumnSet, queryColumns, referenceColumns } from "../../catalog/mod.ts";
import {
  isRow,
  isTooLarge,
  leastBytes,
  outputs,
  type SetColumn,
  toBase64Url,
} from "./function_terms.ts";

/**
 * The ids of the found rows, with the first row of the next page; how many of them the page may contain; their approximate bytes;
 * the built rows; and the values of the cursor.
 */
export const PAGE_VARIABLES = `"$ids" uuid[];
  "$returned" int4;
  "$size" int8;
  "$text" text;
  "$rows" text[] := '{}';
  "$count" int4 := 0;
  "$bytes" int8 := 0;
  "$keys" text[];
  "$related" jsonb;
  "$members" text[];
  "$next" text := 'null';`;

type Parts = {
  readonly app: string;
  /** Max bytes of the rows. */
  readonly bytes: string;
};

/**
 * Finds the related rows of the page, as members of its rows. The page ends before a row whose related rows are larger than a
 * response.
 */
export function findRelated({ app, proof }: { app: string; proof: string }): string {
  return `if "$related" is not null and "$returned" > 0 then
    "$members" := rowhouse.find_related(${app}, ${proof}, "$related",
      "$ids"[1:"$returned"], "$refs"[1:"$returned"]);
    "$returned" := coalesce(array_position("$members", null) - 1, "$returned");
    if "$returned" = 0 then
      return rowhouse.reject_row("$ids"[1]);
    end if;
    "$members" := "$members"[1:"$returned"];
    "$size" := "$size" + octet_length(array_to_string("$members", ','));
  end if;`;
}

/**
 * Builds the rows of the page, in one step or, if they may be large, one after another. Alternatives are statements of their own:
 * PostgreSQL prepares all functions of a statement, also those that it does not call. `isBuilt`: whether `$rows` has the rows already.
 */
export function buildRows(table: ColumnSet, { app, bytes, isBuilt }: Parts & { isBuilt?: string }) {
  const source = `data.${quoteName(table.name)}`;
  const whole = wholeRow(table);
  const isWhole = `cardinality("$picked") = 0 and "$related" is null`;
  const build = (
    text: string,
  ) => `select string_agg("$row"."$text", ',' order by "$i"."$n"), count(*)
      into "$text", "$count"
      from ${eachRow('"$ids"[1:"$returned"]')} (select ${text} as "$text" ${rowOf(table, app)}) as "$row";`;
  const first =
    isBuilt === undefined
      ? "if"
      : `if ${isBuilt} then
    "$text" := array_to_string("$rows"[:"$returned"], ',');
    "$count" := "$returned";
    "$rows" := '{}';
  elsif`;
  return `${first} "$size" <= ${SINGLE_STEP_BYTES} then
    if ${isWhole} then
      ${build(whole)}
    else
      ${build(pickedRow(table, '"$members"["$i"."$n"]'))}
    end if;
  end if;
  if "$size" > ${SINGLE_STEP_BYTES} or ${isTooLarge("$text", bytes)} then
    "$count" := 0;
    while "$count" < "$returned" and "$bytes" <= ${bytes} loop
      select case
        when not (${isWhole}) then ${pickedRow(table, '"$members"["$count" + 1]')}
        when ${leastBytes(table, "$t")} <= ${bytes} then ${whole} end
      into "$text" from ${source} as "$t"
      where ${isRow(app, `"$ids"["$count" + 1]`)};
      if "$text" is null or ${isTooLarge("$text", bytes)} then
        if "$count" = 0 then
          return rowhouse.reject_row("$ids"[1]);
        end if;
        exit;
      end if;
      "$rows" := array_append("$rows", "$text");
      "$count" := "$count" + 1;
      "$bytes" := "$bytes" + octet_length("$text");
    end loop;
    "$text" := array_to_string("$rows", ',');
  end if;`;
}

/** Each of the ids as `"$i"."$id"`, before what is read for it. */
export function eachRow(ids: string): string {
  return `unnest(${ids}) with ordinality as "$i" ("$id", "$n") cross join lateral`;
}

/** "offset 0" makes PostgreSQL look up each row by its id, regardless of the table's statistics at plan time. */
function rowOf({ name }: ColumnSet, app: string): string {
  return `from data.${quoteName(name)} as "$t" where ${isRow(app, `"$i"."$id"`)} offset 0`;
}

/** Reads the values of the cursor, in the first row that the page does not contain. `numbers`: the columns, as a source of `"$k"`. */
export function readKeys(table: ColumnSet, { app, numbers }: { app: string; numbers: string }) {
  const texts = queryColumns(table).map(({ kind, name }) => {
    const value = `"$t".${quoteName(name)}`;
    return SQL[kind].cursor?.(value) ?? `${value}::text`;
  });
  return `select array(
        select (array[${texts.join(", ")}])["$k"."$v"::int4]
        from ${numbers} order by "$k"."$n")
    into "$keys" from data.${quoteName(table.name)} as "$t"
    where ${isRow(app, `"$ids"["$count" + 1]`)};`;
}

/** A list of numbers of a plan. */
export function readNumbers(plan: string, name: string): string {
  return `coalesce(translate("${plan}" ->> '${name}', '[]', '{}')::int4[], '{}')`;
}

/** The cursor of the page that begins with the first row that this page does not contain. */
export function setNext(cursor: string): string {
  return `"$next" := concat('"', ${toBase64Url(`to_json(array_prepend(${cursor}, "$keys"))::text`)}, '"');`;
}

/** The parts of the response's text. */
export const ENVELOPE = `'{"rows":[', "$text", '],"limit":', "$limit", ',"offset":', "$offset",
    ',"hasMore":', case when "$next" <> 'null' then 'true' else 'false' end, ',"next":', "$next"`;

function wholeRow(table: ColumnSet): string {
  return `(select row_to_json("$o")::text from (select ${outputs(table)}) as "$o")`;
}

/**
 * The selected columns of a row as JSON, in the table's order, and its members with related rows. An array, because a function
 * has max 100 arguments.
 */
function pickedRow(table: ColumnSet, related: string): string {
  return `concat('{', array_to_string(array[
        ${[...pickedMembers(table), related].join(",\n        ")}], ','), '}')`;
}

/** The selected columns of a row as members of an object, in the table's order; null for other columns. */
export function pickedMembers(table: ColumnSet): string[] {
  const columns = queryColumns(table);
  const order = [{ name: "id" }, ...table.columns].map(({ name }) => name);
  return columns
    .toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
    .map(
      (column) =>
        `case when ${columns.indexOf(column) + 1} = any ("$picked") then ${memberOf(column)} end`,
    );
}

export function memberOf({ name, kind }: SetColumn): string {
  const value = `"$t".${quoteName(name)}`;
  return `${quoteLiteral(`${JSON.stringify(name)}:`)} || coalesce(to_json(${SQL[kind].isSentAsText ? `${value}::text` : value})::text, 'null')`;
}

/** The references of a row, numbered as in plans. */
export function referencesOfRow(table: ColumnSet): string {
  const names = referenceColumns(table).map(({ name }) => `"$t".${quoteName(name)}`);
  return `array[${names.join(", ") || "null"}]::uuid[]`;
}
