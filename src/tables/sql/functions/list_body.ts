/** The body of the list function. @see function_terms.ts for its parts @module */

import {
  FOUND_ROW_BYTES,
  FOUND_ROWS,
  ID_BYTES,
  quoteLiteral,
  quoteName,
  SIGNALS,
  STATE_BYTES,
} from "../../../db/mod.ts";
import { MAX_VISITS, SINGLE_STEP_BYTES } from "../../../std/limits.ts";
import {
  type ColumnSet,
  hashColumnSet,
  placeholdersOf,
  RULE_OFFSET,
  RULE_VISITS,
  type ServedSet,
  TAG_LENGTH,
} from "../../catalog/mod.ts";
import { callerOf, declareWho } from "./caller_terms.ts";
import { beginAs, isRow, outputs, ROW_TEXT, rowSize } from "./function_terms.ts";
import { readTerms } from "./page_rows.ts";
import { planList, ROW_STATE } from "./seen_walks_terms.ts";
import { shownColumns } from "./view_terms.ts";

/**
 * The tag and the identity of the page, followed by the rows unless the caller has that tag or the page may exceed the
 * caller's limit. A normal page is built in one step; a page that
 * may be large is built row by row. It ends at the limit, and before a row larger than the limit. If that row is
 * the first row, its id is reported. The function is stable, so all reads see one state of the table.
 */
export function listBody(table: ServedSet): string {
  const { app, limit, offset, bytes, known, inline } = placeholdersOf("list");
  const upTo = `(${offset}::int8 + ${limit} + 1)`;
  const walks = planList(table, upTo);
  const rows = `data.${quoteName(table.name)} as "$t" where "$t"."app_id" = ${app}`;
  const isBuilt = walks.kind === "all" ? "" : walks.isBuilt;
  const page = renderPage();
  const { person } = callerOf(table);
  // Rows of a short page are built as they are found, unless the caller can have them.
  const isFound = walks.kind === "all";
  return `declare
  ${declareWho(table)}
  ${isFound ? FOUND_VARIABLES : '"$ids" uuid[];\n  "$isCut" bool;\n  "$isBuilt" bool;'}
  "$states" bytea;
  "$head" text;
  "$found" int8;
  "$size" int8;
  "$text" text;
  "$count" int8;
begin
  ${beginAs(table, "list")}
  ${isFound ? `"$isShort" := ${limit} <= ${FOUND_ROWS} and split_part(${known}, ',', 2) = '';` : `"$isBuilt" := rowhouse.keep_order()${isBuilt === "" ? "" : ` and ${isBuilt}`};`}
  ${renderTag()};
  "$head" := rowhouse.begin_list(${[app, person, quoteLiteral(hashColumnSet(table)), limit, offset, bytes, known, '"$states"'].join(", ")});
  if "$size" > ${inline} or left("$head", ${TAG_LENGTH}) = any (string_to_array(${known}, ',')) then
    return "$head";
  end if;
  "$count" := least(${limit}, "$found");
  ${
    isFound
      ? `if "$isShort" and array_position("$texts", null) is null then
    "$text" := array_to_string("$texts"[:${limit}], ',');
  els`
      : ""
  }if "$size" <= ${SINGLE_STEP_BYTES} then
    "$text" := (select string_agg(${ROW_TEXT}, ',') from (${page}) as "$row");
  end if;
  if "$size" > ${SINGLE_STEP_BYTES} or octet_length("$text") > ${bytes} then
    ${buildLarge()}
  end if;
  return rowhouse.end_list("$head", "$text", ${limit}, ${offset}, "$found", "$count", ${known}, "$states");
end`;

  /** Row by row, in the terms of the set. */
  function buildLarge(): string {
    return `select "$b"."page", "$b"."count" into "$text", "$count"
    from rowhouse.build_list(${app}, ${readTerms(table)}, "$states", ${limit}, "$size", ${bytes}) as "$b";`;
  }

  function renderTag(): string {
    if (walks.kind === "all") return renderPageTag(table, rows);
    const found =
      walks.kind === "single" ? renderWalkTag(walks.query) : renderMergedTag(walks.query);
    if (isBuilt === "") return found;
    return `if "$isBuilt" then
    ${found};
  else
    ${renderMergedTag(walks.unbuilt)};
  end if`;
  }

  function renderPage(): string {
    if (walks.kind === "merged") return pageOfIds(table);
    // The rows before the page were already skipped once, to find its start.
    if (walks.kind === "all")
      return `select ${outputs(table)} from ${rows}
      and "$t"."id" >= ${FIRST} order by "$t"."id" limit ${limit}`;
    const most = `least(${limit}, "$found")`;
    const range = {
      start: FIRST,
      limit: isBuilt === "" ? most : `case when "$isBuilt" then ${most} else 0 end`,
    };
    const ids = `select "$b".* from unnest("$ids"[:${limit}]) as "$i" ("$id") cross join lateral (
        select "$b".* from data.${quoteName(table.name)} as "$b" where "$b"."app_id" = ${app}
          and "$b"."id" = "$i"."$id" offset 0) as "$b"`;
    return `select ${outputs(table)} from ((select "$b".* ${walks.rows(range)})
      union all (${ids})) as "$t" order by "$t"."id"`;
  }
}

/** The first row of the page. */
const FIRST = `encode(substring("$states", 1, ${ID_BYTES}), 'hex')::uuid`;

const FOUND_VARIABLES = `"$isShort" bool;
  "$texts" text[];`;

/**
 * Reads the page and the next row: the states of the rows, their count, their approximate bytes, and the texts of a short page. The
 * texts are those of rows after the offset, because they are built from the limited rows.
 */
function renderPageTag(table: ColumnSet, rows: string): string {
  const { limit, offset, inline } = placeholdersOf("list");
  const columns = ["id", "app_id", ...shownColumns(table).map(({ name }) => name)].map(
    (name) => `"$t".${quoteName(name)}`,
  );
  return `select string_agg("$t"."$state", ''::bytea), count(*), coalesce(sum("$t"."$size"), 0),
    array_agg(case when "$isShort" and "$t"."$size" < least(${FOUND_ROW_BYTES}, ${inline} / greatest(${limit}, 1)) then ${ROW_TEXT} end)
  into "$states", "$found", "$size", "$texts" from (
    select ${columns.join(", ")}, ${ROW_STATE} as "$state", ${rowSize(table, "$t")} as "$size"
    from ${rows} order by "$t"."id" limit ${limit} + 1 offset ${offset}) as "$t"
  cross join lateral (select ${outputs(table)}) as "$row"`;
}

/** Reads the same from a query of a walk. */
function renderWalkTag(query: string): string {
  const { offset } = placeholdersOf("list");
  return `select string_agg("$row"."$state", ''::bytea), count(*), coalesce(sum("$row"."$size"), 0)
  into "$states", "$found", "$size" from (${query} offset ${offset}) as "$row"`;
}

/**
 * Reads the states, the count and the bytes of a page as {@linkcode renderPageTag}, and its ids, from a query of walks. A row that
 * several walks find is one row. Where a walk was cut short, further rows are not known, so that it is an error.
 */
function renderMergedTag(walks: string): string {
  const { limit, offset } = placeholdersOf("list");
  return `if ${offset} >= ${MAX_VISITS} then
    raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}', detail = '${RULE_OFFSET}';
  end if;
  select string_agg("$row"."$state", ''::bytea), count(*), coalesce(sum("$row"."$size"), 0),
    array_agg("$row"."id"), coalesce(bool_or("$row"."$cut"), false)
  into "$states", "$found", "$size", "$ids", "$isCut" from (
    select distinct on ("$w"."id", "$w"."$cut") "$w".* from (
${walks}
    ) as "$w" order by "$w"."id", "$w"."$cut" limit ${offset}::int8 + ${limit} + 1) as "$row";
  if "$isCut" then
    raise exception 'too many rows' using errcode = '${SIGNALS.tooManyVisits}', detail = '${RULE_VISITS}';
  end if;
  if ${offset} > 0 then
    "$states" := substring("$states", (least(${offset}, "$found") * ${STATE_BYTES} + 1)::int4);
    "$ids" := "$ids"[(least(${offset}, "$found") + 1)::int4:];
    "$size" := "$size" * greatest("$found" - ${offset}, 0) / greatest("$found", 1);
    "$found" := greatest("$found" - ${offset}, 0);
  end if`;
}

function pageOfIds(table: ColumnSet): string {
  const { app, limit } = placeholdersOf("list");
  return `select "$r".* from unnest("$ids"[:${limit}]) as "$i" ("$id") cross join lateral (
      select ${outputs(table)} from data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$i"."$id"')} offset 0) as "$r"
    order by "$r"."id"`;
}
