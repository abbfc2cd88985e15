-- Revokes two rights that PostgreSQL grants to every login: to block others with advisory locks, and to fill the disk with large
-- objects. Run it as a superuser in Rowhouse's database after the first migrate. You can run it again.
do $$
declare
  routine record;
  -- Pushes and migrations lock each other out. The database's owner migrates, and can be no member of
  -- rowhouse_owner before its first migrate.
  lockers constant text := 'rowhouse_owner, rowhouse_tables, ' || (select datdba::regrole
    from pg_catalog.pg_database where datname = current_database());
begin
  if to_regrole('rowhouse_owner') is null then
    raise exception 'Nothing was changed: run rowhouse migrate first, then this file';
  end if;
  for routine in
    select oid::regprocedure as name, proname like 'pg%' as is_lock from pg_catalog.pg_proc
    where pronamespace = 'pg_catalog'::regnamespace
      and proname ~ '^(pg_(try_)?advisory_(xact_)?lock|lo_|loread$|lowrite$)'
  loop
    execute format('revoke execute on function %s from public', routine.name);
    if routine.is_lock then
      execute format('grant execute on function %s to %s', routine.name, lockers);
    end if;
  end loop;
end
$$;
