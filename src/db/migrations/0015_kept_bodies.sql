-- Functions of apps' tables that only processes of an earlier release call, with digests of their
-- bodies as that release generated them. Only an administrator writes them. Until the second step
-- of the upgrade, these functions are neither renewed nor generated.
create table rowhouse.kept_bodies (
  signature text primary key,
  endpoint text not null,
  digest text not null
);

-- Waits for pushes in progress. Later ones wait for the end of `rowhouse migrate`, so that no
-- process of the earlier release generates other functions.
update rowhouse.release set name = null;
insert into rowhouse.kept_bodies (signature, endpoint, digest)
select pg_catalog.format('%s(%s)', proname, pg_catalog.oidvectortypes(proargtypes)),
  pg_catalog.substring(proname, '__[0-9a-f]{16}_([a-z_]+)$'),
  pg_catalog.md5(pg_catalog.btrim(prosrc, E'\n'))
from pg_catalog.pg_proc where pronamespace = pg_catalog.to_regnamespace('api')
  and proname ~ '__[0-9a-f]{16}_(query|groups|children|walk|update_where|delete_where)$';

-- The next check reads all bodies.
update rowhouse.isolation_checks set marks = '';
