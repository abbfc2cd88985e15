/** The body of the list function. @see function_terms.ts for its parts @module */
import {
  type ColumnSet,
  type FunctionSite,
  hashColumnSet,
  hasPreview,
  placeholdersOf,
  TAG_LENGTH,
} from "../catalog/mod.ts";
import { quoteLiteral, quoteName } from "../db/mod.ts";
import {
  beginAs,
  CONCAT,
  EQUALS,
  isTooLarge,
  leastBytes,
  outputs,
  ROW_TEXT,
  rowSize,
  TEXT,
  toBase64Url,
} from "./function_terms.ts";

/** Up to about this many bytes, a page is built in one step and then measured. */
export const SINGLE_STEP_BYTES = 786_432;

/**
 * The tag and the identity of the page, followed by the rows unless the caller has that tag or the page may exceed the
 * caller's limit. A normal page is built in one step; a page that
 * may be large is built row by row. It ends at the limit, and before a row larger than the limit. If that row is
 * the first row, its id is reported. The function is stable, so all reads see one state of the table.
 */
export function listBody(table: ColumnSet, site: FunctionSite): string {
  const { app, limit, bytes, known, inline } = placeholdersOf("list");
  const rows = `data.${quoteName(table.name)} as "$t" where "$t"."app_id" ${EQUALS} ${app}`;
  // The rows before the page were already skipped once, to find its start.
  const page = `select ${outputs(table)} from ${rows}
      and "$t"."id" operator(pg_catalog.>=) "$first" order by "$t"."id" limit ${limit}`;
  return `declare
  "$states" pg_catalog.bytea;
  "$first" pg_catalog.uuid;
  "$tag" ${TEXT};
  "$head" ${TEXT};
  "$found" pg_catalog.int8;
  "$size" pg_catalog.int8;
  "$text" ${TEXT};
  "$one" record;
  "$rows" ${TEXT}[] := '{}';
  "$count" pg_catalog.int8 := 0;
  "$bytes" pg_catalog.int8 := 0;
begin
${beginAs(table, "list", site)}
  ${renderPageTag(table, rows)};
  "$first" := pg_catalog.encode(pg_catalog.substring("$states", 1, ${ID_BYTES}), 'hex')::pg_catalog.uuid;
  "$tag" := ${tagOfPage(table, site)};
  "$head" := ${headOfPage(table)};
  if "$size" operator(pg_catalog.>) ${inline} or "$tag" ${EQUALS} any (pg_catalog.string_to_array(${known}, ',')) then
    return "$head";
  end if;
  if "$size" operator(pg_catalog.<=) ${SINGLE_STEP_BYTES} then
    select pg_catalog.concat("$head", '{"rows":[', pg_catalog.string_agg(${ROW_TEXT}, ','), ${envelopeEnd(limit, site)})
    into "$text" from (${page}) as "$row";
    if pg_catalog.octet_length("$text") operator(pg_catalog.<=) ${bytes} then
      return "$text";
    end if;
  end if;
  for "$one" in ${page} loop
    exit when "$bytes" operator(pg_catalog.>) ${bytes};
    "$text" := case when ${leastBytes(table, "$one")} operator(pg_catalog.<=) ${bytes} then pg_catalog.row_to_json("$one")::${TEXT} end;
    if "$text" is null or ${isTooLarge("$text", bytes)} then
      if "$count" ${EQUALS} 0 then
        return rowhouse.reject_row("$one"."id");
      end if;
      exit;
    end if;
    "$rows" := pg_catalog.array_append("$rows", "$text");
    "$count" := "$count" operator(pg_catalog.+) 1;
    "$bytes" := "$bytes" operator(pg_catalog.+) pg_catalog.octet_length("$text");
  end loop;
  return pg_catalog.concat("$head", '{"rows":[', pg_catalog.array_to_string("$rows", ','), ${envelopeEnd('"$count"', site)});
end`;
}

/** The end of the text of a page with `counted` rows. More rows exist if the query found more than `counted`. */
function envelopeEnd(counted: string, site: FunctionSite): string {
  const { limit, offset } = placeholdersOf("list");
  const next = hasPreview(site, "filters") ? ` ',"next":', ${nextOf(counted)},` : "";
  return `'],"limit":', ${limit}, ',"offset":', ${offset}, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) ${counted} then 'true' else 'false' end,${next} '}'`;
}

/** A cursor at the first row after the page, as JSON. */
function nextOf(counted: string): string {
  const start = `${counted} operator(pg_catalog.*) ${STATE_BYTES} operator(pg_catalog.+) 1`;
  const id = `pg_catalog.encode(pg_catalog.substring("$states", (${start})::pg_catalog.int4, ${ID_BYTES}), 'hex')::pg_catalog.uuid`;
  const cursor = toBase64Url(`pg_catalog.concat('["id.asc","', ${id}, '"]')`);
  return `case when "$found" operator(pg_catalog.>) ${counted} then pg_catalog.concat('"', ${cursor}, '"') else 'null' end`;
}

/** Every state begins with the row's id, so the first state identifies the start of the page. */
const ID_BYTES = 16;
const STATE_BYTES = 26;
/** The state of a row: its `xmin` and `ctid` change whenever the row does. */
export const ROW_STATE = ['uuid_send("$t"."id")', 'xidsend("$t"."xmin")', 'tidsend("$t"."ctid")']
  .map((part) => `pg_catalog.${part}`)
  .join(CONCAT);
/** Row states can repeat after a restore or in another database. These values then differ. */
export const STATE_SEED = [
  `(select "$seed"."value" from rowhouse."tag_seed" as "$seed" where "$seed"."is_only")`,
  `pg_catalog.timestamptz_send(pg_catalog.pg_postmaster_start_time())`,
] as const;

/**
 * Reads the page and the next row without building text: the states of the rows, their count,
 * and their approximate bytes.
 */
function renderPageTag(table: ColumnSet, rows: string): string {
  const { limit, offset } = placeholdersOf("list");
  return `select pg_catalog.string_agg("$row"."$state", ''::pg_catalog.bytea),
    pg_catalog.count(*), coalesce(pg_catalog.sum("$row"."$size"), 0)
  into "$states", "$found", "$size" from (
    select ${ROW_STATE} as "$state", ${rowSize(table, "$t")} as "$size"
    from ${rows} order by "$t"."id" limit ${limit} operator(pg_catalog.+) 1 offset ${offset}) as "$row"`;
}

/** @see ../catalog/tags.ts */
function headOfPage(table: ColumnSet): string {
  const { app, limit, offset } = placeholdersOf("list");
  return `pg_catalog.concat("$tag", ${app}, ' ${hashColumnSet(table)} ', ${limit}, ' ', ${offset}, ' ')`;
}

/** The tag changes with every input of the page. */
function tagOfPage(table: ColumnSet, site: FunctionSite): string {
  const { limit, offset, bytes } = placeholdersOf("list");
  const parts = [
    ...STATE_SEED,
    ...(hasPreview(site, "filters") ? [`'next'::pg_catalog.bytea`] : []),
    `${quoteLiteral(hashColumnSet(table))}::pg_catalog.bytea`,
    ...[limit, offset, bytes].map((name) => `pg_catalog.int4send(${name})`),
    `coalesce("$states", ''::pg_catalog.bytea)`,
  ];
  return `pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(${parts.join(CONCAT)}), 'hex'), ${TAG_LENGTH})`;
}
