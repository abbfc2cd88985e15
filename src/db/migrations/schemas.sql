-- The schemas. All objects of the following files belong to rowhouse_owner.

do $$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
     and not pg_has_role(current_user, 'rowhouse_owner', 'usage') then
    execute format('grant rowhouse_owner to %I', current_user);
  end if;
  -- PostgreSQL searches a temporary schema first: a hostile type there would run inside the
  -- functions as their owner.
  execute format('revoke temporary on database %I from public', current_database());
  execute format('grant create on database %I to rowhouse_owner', current_database());
end
$$;

create schema rowhouse authorization rowhouse_owner;
create schema data authorization rowhouse_owner;
create schema api authorization rowhouse_owner;
do $$ begin
  execute format('revoke create on database %I from rowhouse_owner', current_database());
end $$;

set local role rowhouse_owner;
