-- What only processes before 0.2.0 need, besides the functions of code/kept/, which goes
-- first. `rowhouse migrate --contract` runs each query, and each statement that it selects in
-- a transaction of its own, as rowhouse_owner. A query selects what is left, so that a run that
-- was killed can be repeated; `what` is what an operator reads. It may read only what the login of
-- pushes can, for doctor.

-- Such a process starts only if these names include those of its PREVIEW.
select 'the recorded names of previews' as what,
  $$update rowhouse.release set features = '{}'$$ as statement
from rowhouse.release where features <> '{}';

-- PostgreSQL locks each dropped function until the transaction ends.
select pg_catalog.format('functions %s to %s of %s of apps'' tables that only these releases call',
    first, least(first + 499, total), total) as what,
  $$do $do$
    declare
      names text;
    begin
      select string_agg(oid::regprocedure::text, ', ') into names
      from (select oid from pg_proc where pronamespace = 'api'::regnamespace
          and proname ~ '__[0-9a-f]{16}_(${FORMER_NAMES})$' limit 500) as next_ones;
      if names is not null then
        execute 'drop function if exists ' || names;
      end if;
    end
    $do$
  $$ as statement
from (select pg_catalog.count(*) as total from pg_catalog.pg_proc
    where pronamespace = pg_catalog.to_regnamespace('api')
      and proname ~ '__[0-9a-f]{16}_(${FORMER_NAMES})$') as former,
  pg_catalog.generate_series(1, total, 500) as first;

select 'the record of these functions' as what, 'delete from rowhouse.kept_bodies' as statement
where exists (select from rowhouse.kept_bodies);
