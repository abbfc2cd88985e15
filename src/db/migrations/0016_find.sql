-- The schema of the functions that find ids of rows (db/code/tables/reader.sql).

do $$ begin
  set local role none;
  execute format('grant create on database %I to rowhouse_owner', current_database());
  set local role rowhouse_owner;
end $$;
create schema find authorization rowhouse_owner;
do $$ begin
  set local role none;
  execute format('revoke create on database %I from rowhouse_owner', current_database());
  set local role rowhouse_owner;
end $$;
