/**
 * The body of the query function: lists with conditions, an order or a selection. It finds ids with one statement, whose text
 * `rowhouse.query_statement` builds from this function's constants and a plan of numbers. The rest is constant, and reads rows
 * by their ids. Both read the table under row security.
 *
 * @see function_terms.ts for the parts of the body
 * @see ../db/migrations/queries.sql
 * @module
 */
import {
  type ColumnSet,
  type FunctionSite,
  hashColumnSet,
  placeholdersOf,
  queryColumns,
  TAG_LENGTH,
} from "../catalog/mod.ts";
import { quoteLiteral, quoteName, SIGNALS } from "../db/mod.ts";
import { SQL, type SqlKind } from "../kinds/mod.ts";
import {
  beginAs,
  CONCAT,
  EQUALS,
  isRow,
  isTooLarge,
  leastBytes,
  outputs,
  rowSize,
  type SetColumn,
  TEXT,
  toBase64Url,
} from "./function_terms.ts";
import { ROW_STATE, SINGLE_STEP_BYTES, STATE_SEED } from "./list_body.ts";
import { sqlType } from "./types.ts";

/**
 * The tag of the page, followed by the rows unless the caller has that tag. All reads see one state of the table,
 * because the function is stable.
 */
export function queryBody(table: ColumnSet, site: FunctionSite): string {
  const { app, plan, values, bytes, known } = placeholdersOf("query");
  const source = `data.${quoteName(table.name)}`;
  const columns = queryColumns(table);
  const names = columns.map((column) => `"$t".${quoteName(column.name)}`);
  const texts = (list: readonly string[]) =>
    `array[${list.map(quoteLiteral).join(", ")}]::${TEXT}[]`;
  const of = (render: (kind: SqlKind, name: string) => string) =>
    columns.map((column, index) => render(SQL[column.kind], names[index] ?? ""));
  const number = (name: string) => `("$plan" operator(pg_catalog.->>) '${name}')::pg_catalog.int4`;
  const each = (ids: string) =>
    `pg_catalog.unnest(${ids}) with ordinality as "$i" ("$id", "$n") cross join lateral`;
  // "offset 0" makes PostgreSQL look up each row by its id, regardless of the table's statistics at plan time.
  const row = `from ${source} as "$t" where ${isRow(app, `"$i"."$id"`)} offset 0`;
  return `declare
  "$plan" constant pg_catalog.jsonb := ${plan}::pg_catalog.jsonb;
  "$limit" constant pg_catalog.int4 := ${number("limit")};
  "$offset" constant pg_catalog.int4 := ${number("offset")};
  "$picked" constant pg_catalog.int4[] := array(select "$p"."$v"::pg_catalog.int4
    from pg_catalog.jsonb_array_elements_text("$plan" operator(pg_catalog.->) 'picked') as "$p" ("$v"));
  "$ids" pg_catalog.uuid[];
  "$cut" ${TEXT};
  "$total" pg_catalog.int8;
  "$found" pg_catalog.int4;
  "$returned" pg_catalog.int4;
  "$states" pg_catalog.bytea;
  "$size" pg_catalog.int8;
  "$tag" ${TEXT};
  "$text" ${TEXT};
  "$rows" ${TEXT}[] := '{}';
  "$count" pg_catalog.int4 := 0;
  "$bytes" pg_catalog.int8 := 0;
  "$next" ${TEXT} := 'null';
begin
${beginAs(table, "query", site)}
  execute rowhouse.query_statement(${quoteLiteral(source)},
    ${texts(of(toCompared))},
    ${texts(of((kind, name) => kind.sorted?.(name) ?? toCompared(kind, name)))},
    ${texts(columns.map((column) => sqlType(table, column)))}, "$plan")
  into "$ids", "$cut", "$total"
  using ${app}, ${values}, "$offset" operator(pg_catalog.+) "$limit" operator(pg_catalog.+) 1, ${number("visits")}, ${number("work")};
  -- If a walk was cut short, its last row was not compared: the next page starts with it.
  "$found" := coalesce(pg_catalog.cardinality("$ids"), 0) operator(pg_catalog.-) ("$cut" is not null)::pg_catalog.int4;
  -- Readers mistake an empty page for the absence of a row with these unique values.
  if "$cut" is not null and ("$plan" operator(pg_catalog.?) 'sort' or "$found" operator(pg_catalog.<) "$offset"
    or "$found" ${EQUALS} 0 and "$plan" operator(pg_catalog.?) 'isLookup') then
    raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}', detail = "$cut";
  end if;
  "$ids" := "$ids"["$offset" operator(pg_catalog.+) 1:];
  "$returned" := least("$limit", "$found" operator(pg_catalog.-) "$offset");
  select pg_catalog.string_agg("$row"."$state", ''::pg_catalog.bytea order by "$i"."$n"), coalesce(pg_catalog.sum("$row"."$size"), 0)
  into "$states", "$size" from ${each('"$ids"')} (
    select ${ROW_STATE} as "$state", ${rowSize(table, "$t")} as "$size" ${row}) as "$row";
  "$tag" := pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(${[
    ...STATE_SEED,
    `${quoteLiteral(hashColumnSet(table))}::pg_catalog.bytea`,
    `pg_catalog.convert_to(pg_catalog.concat_ws(' ', ${plan}, ${values}::${TEXT}, ${bytes}, "$cut", "$total"), 'UTF8')`,
    `coalesce("$states", ''::pg_catalog.bytea)`,
  ].join(CONCAT)}), 'hex'), ${TAG_LENGTH});
  if "$tag" ${EQUALS} any (pg_catalog.string_to_array(${known}, ',')) then
    return "$tag";
  end if;
  if "$size" operator(pg_catalog.<=) ${SINGLE_STEP_BYTES} then
    select pg_catalog.string_agg("$row"."$text", ',' order by "$i"."$n"), pg_catalog.count(*)
    into "$text", "$count" from ${each('"$ids"[1:"$returned"]')} (select ${rowText(table, columns)} as "$text" ${row}) as "$row";
  end if;
  if "$size" operator(pg_catalog.>) ${SINGLE_STEP_BYTES} or ${isTooLarge("$text", bytes)} then
    "$count" := 0;
    while "$count" operator(pg_catalog.<) "$returned" and "$bytes" operator(pg_catalog.<=) ${bytes} loop
      select case when pg_catalog.cardinality("$picked") operator(pg_catalog.>) 0
        or ${leastBytes(table, "$t")} operator(pg_catalog.<=) ${bytes} then ${rowText(table, columns)} end
      into "$text" from ${source} as "$t"
      where ${isRow(app, `"$ids"["$count" operator(pg_catalog.+) 1]`)};
      if "$text" is null or ${isTooLarge("$text", bytes)} then
        if "$count" ${EQUALS} 0 then
          return rowhouse.reject_row("$ids"[1]);
        end if;
        exit;
      end if;
      "$rows" := pg_catalog.array_append("$rows", "$text");
      "$count" := "$count" operator(pg_catalog.+) 1;
      "$bytes" := "$bytes" operator(pg_catalog.+) pg_catalog.octet_length("$text");
    end loop;
    "$text" := pg_catalog.array_to_string("$rows", ',');
  end if;
  if pg_catalog.cardinality("$ids") operator(pg_catalog.>) "$count" then
    -- The first row that is not returned: the next page begins with it.
    select pg_catalog.concat('"', ${toBase64Url(`pg_catalog.to_json(pg_catalog.array_prepend(
        "$plan" operator(pg_catalog.->>) 'cursor', array(
        select (array[${of((kind, name) => kind.cursor?.(name) ?? `${name}::${TEXT}`).join(", ")}])["$k"."$v"::pg_catalog.int4]
        from pg_catalog.jsonb_array_elements_text("$plan" operator(pg_catalog.->) 'order')
          with ordinality as "$k" ("$v", "$n") order by "$k"."$n")))::${TEXT}`)}, '"')
    into "$next" from ${source} as "$t"
    where ${isRow(app, `"$ids"["$count" operator(pg_catalog.+) 1]`)};
  end if;
  return pg_catalog.concat("$tag", '{"rows":[', "$text", '],"limit":', "$limit", ',"offset":', "$offset",
    ',"hasMore":', case when "$next" operator(pg_catalog.<>) 'null' then 'true' else 'false' end, ',"next":', "$next",
    case when "$plan" operator(pg_catalog.?) 'isCounted'
      then pg_catalog.concat(',"count":', coalesce("$total"::${TEXT}, 'null')) end, '}');
end`;
}

function toCompared({ compared }: SqlKind, name: string): string {
  return compared?.(name) ?? name;
}

/**
 * A row as JSON: all columns or the selected columns, in the table's order. An array, because a function has max 100
 * arguments.
 */
function rowText(table: ColumnSet, columns: readonly SetColumn[]): string {
  const order = [{ name: "id" }, ...table.columns].map(({ name }) => name);
  const inOrder = columns.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const picked = inOrder.map((column) => {
    const name = `"$t".${quoteName(column.name)}`;
    const value = SQL[column.kind].isSentAsText ? `${name}::${TEXT}` : name;
    return `case when ${columns.indexOf(column) + 1} ${EQUALS} any ("$picked")
        then ${quoteLiteral(`${JSON.stringify(column.name)}:`)}${CONCAT}coalesce(pg_catalog.to_json(${value})::${TEXT}, 'null') end`;
  });
  return `case when pg_catalog.cardinality("$picked") ${EQUALS} 0
      then (select pg_catalog.row_to_json("$o")::${TEXT} from (select ${outputs(table)}) as "$o")
      else pg_catalog.concat('{', pg_catalog.array_to_string(array[${picked.join(",\n        ")}], ','), '}') end`;
}
