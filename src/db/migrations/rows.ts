/**
 * How an operator's commands count and delete apps' rows. Whoever pushes owns the tables, and what it may have planted
 * there, such as a trigger or a view in a table's place, runs with the rights of whoever touches it: never an
 * administrator's. So these functions run as `rowhouse_rows`, which may do no more than a push.
 *
 * @module
 */
import { APP_SETTING } from "../tenant_policy.ts";

export const ROWS = `
-- How many rows an app has of a table.
create function rowhouse.count_rows(wanted_table text, app uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  row_count bigint;
begin
  perform set_config('${APP_SETTING}', app::text, true);
  execute format('select count(*) from data.%I where app_id = $1', wanted_table) into row_count using app;
  return row_count;
end
$$;

-- Deletes an app's rows of tables in one statement: references between them are checked at its end, when all rows are gone.
-- How many there were, in the order of the names.
create function rowhouse.delete_rows(names text[], app uuid) returns bigint[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  row_counts bigint[];
begin
  perform set_config('${APP_SETTING}', app::text, true);
  execute (
    select format('with %s select array[%s]',
      string_agg(format('gone_%s as (delete from data.%I where app_id = $1 returning 1)', place, name), ', '),
      string_agg(format('(select count(*) from gone_%s)', place), ', ' order by place))
    from unnest(names) with ordinality as listed (name, place)
  ) into row_counts using app;
  return row_counts;
end
$$;

grant create on schema rowhouse to rowhouse_rows;
alter function rowhouse.count_rows(text, uuid) owner to rowhouse_rows;
alter function rowhouse.delete_rows(text[], uuid) owner to rowhouse_rows;
revoke create on schema rowhouse from rowhouse_rows;
`;
