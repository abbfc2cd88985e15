-- More functions of apps' tables that only processes of an earlier release call, because functions
-- of all tables have replaced them.
update rowhouse.release set name = null;
insert into rowhouse.kept_bodies (signature, endpoint, digest)
select pg_catalog.format('%s(%s)', proname, pg_catalog.oidvectortypes(proargtypes)),
  pg_catalog.substring(proname, '__[0-9a-f]{16}_([a-z_]+)$'),
  pg_catalog.md5(pg_catalog.btrim(prosrc, E'\n'))
from pg_catalog.pg_proc where pronamespace = pg_catalog.to_regnamespace('api')
  and proname ~ '__[0-9a-f]{16}_(related|upsert|changes)$';

-- The next check reads all bodies.
update rowhouse.isolation_checks set marks = '';
