/**
 * Parts of the body of the walk: related rows, the cursor of the next page and the envelope; rowhouse.build_page builds the rows of a large
 * page. The variables are those of {@linkcode PAGE_VARIABLES}; the body sets `$ids`, `$returned`, `$size`, and the request's
 * `$limit`, `$offset` and `$picked`, and for related rows `$related` and the references of each row.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import { SQL } from "../../../kinds/mod.ts";
import { type ColumnSet, queryColumns, referenceColumns, setName } from "../../catalog/mod.ts";
import { type SetColumn, toBase64Url } from "./function_terms.ts";

/** The ids of the found rows, with the first row of the next page; how many of them the page may contain; their approximate bytes; their text; and the values of the cursor. */
export const PAGE_VARIABLES = `"$ids" uuid[];
  "$returned" int4;
  "$size" int8;
  "$texts" text[];
  "$text" text;
  "$count" int4;
  "$keys" text[];
  "$related" jsonb;
  "$members" text[];
  "$next" text := 'null';`;

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
    "$members" := "$members"[:"$returned"];
    "$texts" := rowhouse.insert_members("$texts"[:"$returned"], "$members");
    "$size" := "$size" + octet_length(array_to_string("$members", ','));
  end if;`;
}

/** The terms of the set, for functions of all tables. */
export function readTerms(table: ColumnSet): string {
  return `rowhouse.read_terms(${quoteLiteral(setName(table))}, 1::int2)`;
}

/** The cursor of the page that begins with the first row that this page does not contain. */
export function setNext(cursor: string): string {
  return `"$next" := concat('"', ${toBase64Url(`to_json(array_prepend(${cursor}, "$keys"))::text`)}, '"');`;
}

/** The parts of the response's text. */
export const ENVELOPE = `'{"rows":[', "$text", '],"limit":', "$limit", ',"offset":', "$offset",
    ',"hasMore":', case when "$next" <> 'null' then 'true' else 'false' end, ',"next":', "$next"`;

/** The text of "$t" with its selected columns, in the table's order. An array, because a function has max 100 arguments. */
export function pickedRow(table: ColumnSet): string {
  const columns = queryColumns(table);
  const order = [{ name: "id" }, ...table.columns].map(({ name }) => name);
  const members = columns
    .toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
    .map(
      (column) =>
        `case when ${columns.indexOf(column) + 1} = any ("$picked") then ${memberOf(column)} end`,
    );
  return `concat('{', array_to_string(array[
        ${members.join(",\n        ")}], ','), '}')`;
}

function memberOf({ name, kind }: SetColumn): string {
  const value = `"$t".${quoteName(name)}`;
  return `${quoteLiteral(`${JSON.stringify(name)}:`)} || coalesce(to_json(${SQL[kind].isSentAsText ? `${value}::text` : value})::text, 'null')`;
}

/** The references of a row, numbered as in plans. */
export function referencesOfRow(table: ColumnSet): string {
  const names = referenceColumns(table).map(({ name }) => `"$t".${quoteName(name)}`);
  return `array[${names.join(", ") || "null"}]::uuid[]`;
}
