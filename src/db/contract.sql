-- What only processes before 0.2.0 need, besides the functions of code/service/kept.sql, which goes
-- first. `rowhouse migrate --contract` runs each query, and each statement that it selects in
-- a transaction of its own, as rowhouse_owner. A query selects what is left, so that a run that
-- was killed can be repeated; `what` is what an operator reads. It may read only what the login of
-- pushes can, for doctor.

-- Such a process starts only if these names include those of its PREVIEW.
select 'names of previews that no longer change a database' as what,
  $$update rowhouse.release set features = array(
    select name from pg_catalog.unnest(features) as listed (name) where name = 'filters')$$
    as statement
from rowhouse.release where features && array['browser', 'history', 'live'];
