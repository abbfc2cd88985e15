-- Takes away what PostgreSQL lets every login do and Rowhouse cannot revoke by itself: block others with advisory locks, and fill
-- the disk with large objects. Run it as a superuser in Rowhouse's database after the first migrate. Safe to run again.
do $$
declare
  routine record;
begin
  for routine in
    select oid::regprocedure as name, proname like 'pg%' as is_lock from pg_catalog.pg_proc
    where pronamespace = 'pg_catalog'::regnamespace
      and proname ~ '^(pg_(try_)?advisory_(xact_)?lock|lo_|loread$|lowrite$)'
  loop
    execute format('revoke execute on function %s from public', routine.name);
    if routine.is_lock then
      -- Pushes and migrations take them, so that only one runs at a time.
      execute format('grant execute on function %s to rowhouse_owner, rowhouse_tables', routine.name);
    end if;
  end loop;
end
$$;
