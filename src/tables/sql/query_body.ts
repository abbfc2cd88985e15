/**
 * The body of the query function: lists with conditions, an order or a selection. It finds ids with one statement, whose text
 * `rowhouse.query_statement` builds from this function's constants and a plan of numbers. The rest is constant, and reads rows
 * by their ids. Both read the table under row security.
 *
 * @see function_terms.ts for the parts of the body
 * @see ../db/code/tables/queries.sql
 * @module
 */

import { quoteLiteral, quoteName, SIGNALS } from "../../db/mod.ts";
import { SQL, type SqlKind } from "../../kinds/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  hashColumnSet,
  placeholdersOf,
  queryColumns,
  TAG_LENGTH,
} from "../catalog/mod.ts";
import { sqlType } from "../plan/step.ts";
import { qualify } from "../qualify.ts";
import {
  beginAs,
  isRow,
  isTooLarge,
  leastBytes,
  outputs,
  rowSize,
  type SetColumn,
  toBase64Url,
} from "./function_terms.ts";
import { ROW_STATE, SINGLE_STEP_BYTES, STATE_SEED } from "./list_body.ts";

/**
 * The tag of the page, followed by the rows unless the caller has that tag. All reads see one state of the table,
 * because the function is stable.
 */
export function queryBody(table: ColumnSet, site: FunctionSite): string {
  const { app, plan, values, bytes, known } = placeholdersOf("query");
  const source = `data.${quoteName(table.name)}`;
  const columns = queryColumns(table);
  const names = columns.map((column) => `"$t".${quoteName(column.name)}`);
  const texts = (list: readonly (string | undefined)[]) =>
    `array[${list.map((text) => (text === undefined ? "null" : quoteLiteral(text))).join(", ")}]::text[]`;
  const of = <Rendered>(render: (kind: SqlKind, name: string) => Rendered) =>
    columns.map((column, index) => render(SQL[column.kind], names[index] ?? ""));
  const number = (name: string) => `("$plan" ->> '${name}')::int4`;
  const each = (ids: string) =>
    `unnest(${ids}) with ordinality as "$i" ("$id", "$n") cross join lateral`;
  // "offset 0" makes PostgreSQL look up each row by its id, regardless of the table's statistics at plan time.
  const row = `from ${source} as "$t" where ${isRow(app, `"$i"."$id"`)} offset 0`;
  const picked = pickedRow(table, columns);
  // Alternatives are statements of their own: PostgreSQL prepares all functions of a statement, also those that it does not call.
  const build = (
    text: string,
  ) => `select string_agg("$row"."$text", ',' order by "$i"."$n"), count(*)
      into "$text", "$count"
      from ${each('"$ids"[1:"$returned"]')} (select ${text} as "$text" ${row}) as "$row";`;
  return `declare
  "$plan" constant jsonb := ${plan}::jsonb;
  "$limit" constant int4 := ${number("limit")};
  "$offset" constant int4 := ${number("offset")};
  "$picked" constant int4[] := array(select "$p"."$v"::int4
    from jsonb_array_elements_text("$plan" -> 'picked') as "$p" ("$v"));
  "$ids" uuid[];
  "$cut" text;
  "$total" int8;
  "$found" int4;
  "$returned" int4;
  "$states" bytea;
  "$size" int8;
  "$tag" text;
  "$text" text;
  "$rows" text[] := '{}';
  "$count" int4 := 0;
  "$bytes" int8 := 0;
  "$next" text := 'null';
begin
  ${beginAs(table, "query", site)}
  execute rowhouse.query_statement(${quoteLiteral(source)},
    ${texts(of(toCompared).map(qualify))},
    ${texts([...of(({ parts }, name) => parts?.start(name)), ...of(({ parts }, name) => parts?.rest(name))])},
    ${texts(columns.map((column) => sqlType(table, column)))}, "$plan")
  into "$ids", "$cut", "$total"
  using ${app}, ${values}, "$offset" + "$limit" + 1, ${number("visits")}, ${number("work")};
  -- If a walk was cut short, its last row was not compared: the next page starts with it.
  "$found" := coalesce(cardinality("$ids"), 0) - ("$cut" is not null)::int4;
  -- Readers mistake an empty page for the absence of a row with these unique values.
  if "$cut" is not null and ("$plan" ? 'sort' or "$found" < "$offset"
    or "$found" = 0 and "$plan" ? 'isLookup') then
    raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}', detail = "$cut";
  end if;
  "$ids" := "$ids"["$offset" + 1:];
  "$returned" := least("$limit", "$found" - "$offset");
  select string_agg("$row"."$state", ''::bytea order by "$i"."$n"), coalesce(sum("$row"."$size"), 0)
  into "$states", "$size" from ${each('"$ids"')} (
    select ${ROW_STATE} as "$state", ${rowSize(table, "$t")} as "$size" ${row}) as "$row";
  "$tag" := left(encode(sha256(${[
    ...STATE_SEED,
    `${quoteLiteral(hashColumnSet(table))}::bytea`,
    `convert_to(concat_ws(' ', ${plan}, ${values}::text, ${bytes}, "$cut", "$total"), 'UTF8')`,
    `coalesce("$states", ''::bytea)`,
  ].join(" || ")}), 'hex'), ${TAG_LENGTH});
  if "$tag" = any (string_to_array(${known}, ',')) then
    return "$tag";
  end if;
  if "$size" <= ${SINGLE_STEP_BYTES} then
    if cardinality("$picked") = 0 then
      ${build(wholeRow(table))}
    else
      ${build(picked)}
    end if;
  end if;
  if "$size" > ${SINGLE_STEP_BYTES} or ${isTooLarge("$text", bytes)} then
    "$count" := 0;
    while "$count" < "$returned" and "$bytes" <= ${bytes} loop
      select case
        when cardinality("$picked") > 0 then ${picked}
        when ${leastBytes(table, "$t")} <= ${bytes} then ${wholeRow(table)} end
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
  end if;
  if cardinality("$ids") > "$count" then
    -- The first row that is not returned: the next page begins with it.
    select concat('"', ${toBase64Url(`to_json(array_prepend(
        "$plan" ->> 'cursor', array(
        select (array[${of((kind, name) => kind.cursor?.(name) ?? `${name}::text`).join(", ")}])["$k"."$v"::int4]
        from jsonb_array_elements_text("$plan" -> 'order')
          with ordinality as "$k" ("$v", "$n") order by "$k"."$n")))::text`)}, '"')
    into "$next" from ${source} as "$t"
    where ${isRow(app, `"$ids"["$count" + 1]`)};
  end if;
  return concat("$tag", '{"rows":[', "$text", '],"limit":', "$limit", ',"offset":', "$offset",
    ',"hasMore":', case when "$next" <> 'null' then 'true' else 'false' end, ',"next":', "$next",
    case when "$plan" ? 'isCounted'
      then concat(',"count":', coalesce("$total"::text, 'null')) end, '}');
end`;
}

function toCompared({ compared }: SqlKind, name: string): string {
  return compared?.(name) ?? name;
}

/** A row as JSON. */
function wholeRow(table: ColumnSet): string {
  return `(select row_to_json("$o")::text from (select ${outputs(table)}) as "$o")`;
}

/** The selected columns of a row as JSON, in the table's order. An array, because a function has max 100 arguments. */
function pickedRow(table: ColumnSet, columns: readonly SetColumn[]): string {
  const order = [{ name: "id" }, ...table.columns].map(({ name }) => name);
  const inOrder = columns.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const picked = inOrder.map((column) => {
    const name = `"$t".${quoteName(column.name)}`;
    const value = SQL[column.kind].isSentAsText ? `${name}::text` : name;
    return `case when ${columns.indexOf(column) + 1} = any ("$picked")
          then ${quoteLiteral(`${JSON.stringify(column.name)}:`)} || coalesce(to_json(${value})::text, 'null') end`;
  });
  return `concat('{', array_to_string(array[
        ${picked.join(",\n        ")}], ','), '}')`;
}
