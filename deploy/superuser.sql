-- Revokes two rights that PostgreSQL grants to every login: to block others with advisory locks, and to fill the disk with large
-- objects. Run it as a superuser in Rowhouse's database after the first migrate. You can run it again.
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
      -- Pushes and migrations lock each other out.
      execute format('grant execute on function %s to rowhouse_owner, rowhouse_tables', routine.name);
    end if;
  end loop;
end
$$;
