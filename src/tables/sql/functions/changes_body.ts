/**
 * The body of the function that reads changes since a cursor: each row in its current state, or its id if it was deleted. So the
 * order of changes does not matter, and duplicates are harmless.
 *
 * A person gets no id of a row that the person does not see, or that was deleted: such a change leads to a reset, and so does a change
 * of a table that decides which rows the person sees. The person's page is then read again.
 *
 * @see ../../db/code/apps/live.sql
 * @module
 */

import { quoteLiteral, quoteName } from "../../../db/mod.ts";
import {
  type ColumnSet,
  type FunctionSite,
  hashColumnSet,
  placeholdersOf,
  watchedTables,
} from "../../catalog/mod.ts";
import { declareWho } from "./caller_terms.ts";
import { beginAs, isRow, outputs, ROW_TEXT, rowSize } from "./function_terms.ts";
import { andVisible } from "./view_terms.ts";

/**
 * Three lines: the cursor, which names the set of columns, the kind and the events as a JSON list. `ready`: the call had no cursor. `reset`: the changes since
 * the cursor are unknown, of other columns, or exceed the limit of rows or bytes; the caller reads the table again. An empty result:
 * the app is not live.
 */
export function changesBody(table: ColumnSet, site: FunctionSite): string {
  const { app, since, limit, bytes } = placeholdersOf("changes");
  const row = `data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$i"."$id"')}${andVisible(table)}`;
  const ids = 'unnest("$ids") as "$i" ("$id")';
  const set = quoteLiteral(hashColumnSet(table));
  const toResult = (kind: string, events: string) =>
    `concat("$cursor", E'\\n${kind}\\n', ${events})`;
  const { view } = table;
  const watched = view === undefined ? [] : watchedTables(view);
  const names = ["", table.name, ...watched.filter((name) => name !== table.name)];
  const id =
    watched.length === 0
      ? `"$c"."row_id"`
      : `case when "$c"."table_name" <> all (array[${watched.map(quoteLiteral).join(", ")}]) then "$c"."row_id" end`;
  const found = `select ${ROW_TEXT} as "$text" from (select ${outputs(table)} from ${row} offset 0) as "$row"`;
  const isKnown = `(select count(*) from ${ids} cross join lateral (select from ${row} offset 0) as "$found")`;
  return `declare
  ${declareWho(table)}
  "$cursor" constant text := rowhouse.feed_name() || '.' || pg_current_snapshot()::text || '.' || ${set};
  "$since" constant pg_snapshot := rowhouse.read_cursor(${since}, ${set});
  "$ids" uuid[];
  "$text" text;
  "$live" bool;
begin
  ${beginAs(table, "changes", site)}
  if not "$live" then
    return null;
  end if;
  if ${since} is null then
    return ${toResult("ready", "'[]'")};
  end if;
  "$ids" := array(select distinct ${id} from rowhouse."changes" as "$c"
    where "$c"."app_id" = ${app} and "$c"."xid" >= pg_snapshot_xmin("$since")
      and not pg_visible_in_snapshot("$c"."xid", "$since")
      and "$c"."table_name" = any (array[${names.map(quoteLiteral).join(", ")}]) limit ${limit} + 1);
  if "$since" is null or cardinality("$ids") > ${limit}
    or array_position("$ids", null) is not null${
      view === undefined
        ? ""
        : `
    or ${isKnown} < cardinality("$ids")`
    }
    or (select sum(${rowSize(table, "$t")}) from ${ids}, ${row}) > ${bytes} then
    return ${toResult("reset", "'[]'")};
  end if;
  select string_agg(coalesce('{"put":' || "$found"."$text" || '}',
    concat('{"delete":"', "$i"."$id", '"}')), ',')
  into "$text" from ${ids}
  left join lateral (${found}) as "$found" on true;
  return ${toResult("changes", `'[' || coalesce("$text", '') || ']'`)};
end`;
}
