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
import {
  beginAs,
  CONCAT,
  declareLive,
  EQUALS,
  isRow,
  outputs,
  ROW_TEXT,
  rowSize,
  TEXT,
} from "./function_terms.ts";

/**
 * Three lines: the cursor, which names the set of columns, the kind and the events as a JSON list. `ready`: the call had no cursor. `reset`: the changes since
 * the cursor are unknown, of other columns, or exceed the limit of rows or bytes; the caller reads the table again. An empty result:
 * the app is not live.
 */
export function changesBody(table: ColumnSet, site: FunctionSite): string {
  const { app, since, limit, bytes } = placeholdersOf("changes");
  const row = `data.${quoteName(table.name)} as "$t" where ${isRow(app, '"$i"."$id"')}`;
  const ids = 'pg_catalog.unnest("$ids") as "$i" ("$id")';
  const set = quoteLiteral(hashColumnSet(table));
  const toResult = (kind: string, events: string) =>
    `pg_catalog.concat("$cursor", E'\\n${kind}\\n', ${events})`;
  return `declare
  "$cursor" constant ${TEXT} := rowhouse.feed_name()${CONCAT}'.'${CONCAT}pg_catalog.pg_current_snapshot()::${TEXT}${CONCAT}'.'${CONCAT}${set};
  "$since" constant pg_catalog.pg_snapshot := rowhouse.read_cursor(${since}, ${set});
  "$ids" pg_catalog.uuid[];
  "$text" ${TEXT};
${declareLive("changes", site)}begin
${beginAs(table, "changes", site)}
  if not "$live" then
    return null;
  end if;
  if ${since} is null then
    return ${toResult("ready", "'[]'")};
  end if;
  "$ids" := array(select distinct "$c"."row_id" from rowhouse."changes" as "$c"
    where "$c"."app_id" ${EQUALS} ${app} and "$c"."xid" operator(pg_catalog.>=) pg_catalog.pg_snapshot_xmin("$since")
      and not pg_catalog.pg_visible_in_snapshot("$c"."xid", "$since")
      and "$c"."table_name" ${EQUALS} any (array['', ${quoteLiteral(table.name)}]) limit ${limit} operator(pg_catalog.+) 1);
  if "$since" is null or pg_catalog.cardinality("$ids") operator(pg_catalog.>) ${limit}
    or pg_catalog.array_position("$ids", null) is not null
    or (select pg_catalog.sum(${rowSize(table, "$t")}) from ${ids}, ${row}) operator(pg_catalog.>) ${bytes} then
    return ${toResult("reset", "'[]'")};
  end if;
  select pg_catalog.string_agg(coalesce('{"put":'${CONCAT}"$found"."$text"${CONCAT}'}',
    pg_catalog.concat('{"delete":"', "$i"."$id", '"}')), ',')
  into "$text" from ${ids}
  left join lateral (select ${ROW_TEXT} as "$text" from (select ${outputs(table)} from ${row} offset 0) as "$row") as "$found" on true;
  return ${toResult("changes", `'['${CONCAT}coalesce("$text", '')${CONCAT}']'`)};
end`;
}
