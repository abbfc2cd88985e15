/**
 * The body of the function that reads changes since a cursor: each row in its current state, or its id if it was deleted. So
 * the order of changes does not matter, and duplicates are harmless.
 *
 * @see ../db/migrations/live.sql
 * @see function_terms.ts for the parts of the body
 * @module
 */
import {
  type ColumnSet,
  type FunctionSite,
  hashColumnSet,
  placeholdersOf,
} from "../catalog/mod.ts";
import { quoteLiteral, quoteName } from "../db/mod.ts";
import { beginAs, declareLive, isRow, outputs, ROW_TEXT, rowSize } from "./function_terms.ts";

/**
 * Three lines: the cursor, which names the set of columns, the kind and the events as a JSON list. `ready`: the call had no cursor. `reset`: the changes since
 * the cursor are unknown, of other columns, or exceed the limit of rows or bytes; the caller reads the table again. An empty result:
 * the app is not live.
 */
export function changesBody(table: ColumnSet, site: FunctionSite): string {
  const { app, since, limit, bytes } = placeholdersOf("changes");
  const row = `data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$i"."$id"')}`;
  const ids = 'unnest("$ids") as "$i" ("$id")';
  const set = quoteLiteral(hashColumnSet(table));
  const toResult = (kind: string, events: string) =>
    `concat("$cursor", E'\\n${kind}\\n', ${events})`;
  return `declare
  "$cursor" constant text := rowhouse.feed_name() || '.' || pg_current_snapshot()::text || '.' || ${set};
  "$since" constant pg_snapshot := rowhouse.read_cursor(${since}, ${set});
  "$ids" uuid[];
  "$text" text;
  ${declareLive("changes", site)}
begin
  ${beginAs(table, "changes", site)}
  if not "$live" then
    return null;
  end if;
  if ${since} is null then
    return ${toResult("ready", "'[]'")};
  end if;
  "$ids" := array(select distinct "$c"."row_id" from rowhouse."changes" as "$c"
    where "$c"."app_id" = ${app} and "$c"."xid" >= pg_snapshot_xmin("$since")
      and not pg_visible_in_snapshot("$c"."xid", "$since")
      and "$c"."table_name" = any (array['', ${quoteLiteral(table.name)}]) limit ${limit} + 1);
  if "$since" is null or cardinality("$ids") > ${limit}
    or array_position("$ids", null) is not null
    or (select sum(${rowSize(table, "$t")}) from ${ids}, ${row}) > ${bytes} then
    return ${toResult("reset", "'[]'")};
  end if;
  select string_agg(coalesce('{"put":' || "$found"."$text" || '}',
    concat('{"delete":"', "$i"."$id", '"}')), ',')
  into "$text" from ${ids}
  left join lateral (select ${ROW_TEXT} as "$text" from (select ${outputs(table)} from ${row} offset 0) as "$row") as "$found" on true;
  return ${toResult("changes", `'[' || coalesce("$text", '') || ']'`)};
end`;
}
