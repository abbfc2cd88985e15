-- Gives the database the functions of the schema find. Reads them from the setting
-- rowhouse.finders, and adds its changes to the setting rowhouse.renewed. Changes only what
-- differs: a comment on each function has the digest of its statements, and of what they left.
--
-- The functions belong to rowhouse_reader, which has no members: an administrator who is no
-- superuser becomes one in this block, and ends that in the same transaction.

do $renew$
declare
  wanted jsonb := current_setting('rowhouse.finders')::jsonb;
  is_superuser boolean := (select rolsuper from pg_roles where rolname = session_user);
  read_finders text := $query$
    select coalesce(jsonb_object_agg(oid::regprocedure, jsonb_build_object('name', proname,
      'owner', pg_get_userbyid(proowner), 'place', ctid,
      'comment', obj_description(oid, 'pg_proc'),
      'digest', concat('Code ', encode(sha256(convert_to(concat($1 -> 'functions' -> proname,
        case when prokind <> 'a' then pg_get_functiondef(oid) end, proowner::regrole, proacl),
        'UTF8')), 'hex')))), '{}')
    from pg_proc where pronamespace = to_regnamespace('find')
      -- Those of tables come with their other functions.
      and not (right(proname, 8) = '__finder' and proowner = to_regrole('rowhouse_reader')) $query$;
  found jsonb;
  renewed jsonb;
  changes jsonb;
  called text;
  item jsonb;
  statement text;
begin
  execute read_finders into found using wanted;
  select coalesce(jsonb_object_agg(concat('find.', coalesce(listed.key, existing.name)), case
      when existing.name is null then 'new' when listed.key is null then 'dropped'
      else 'changed' end), '{}')
    into changes
    from jsonb_each(wanted -> 'functions') as listed
    full join (select value ->> 'name' as name,
        count(*) = 1 and bool_and(value -> 'comment' = value -> 'digest') as is_same
        from jsonb_each(found) group by 1) as existing on existing.name = listed.key
    where listed.key is null or existing.is_same is not true;
  if changes = '{}' then
    return;
  end if;
  renewed := current_setting('rowhouse.renewed');
  perform set_config('rowhouse.renewed', jsonb_set(renewed, '{functions}',
    renewed -> 'functions' || changes)::text, true);
  if wanted ->> 'mode' = 'try' then
    return;
  end if;

  -- rowhouse_owner owns the schema.
  for called in select key from jsonb_each(found) where value ->> 'owner' <> 'rowhouse_reader'
    or not wanted -> 'functions' ? (value ->> 'name')
  loop
    execute 'drop routine ' || called;
  end loop;
  if not is_superuser then
    set local role none;
    execute format('grant rowhouse_reader to %I', session_user);
  end if;
  set local role rowhouse_reader;
  alter default privileges revoke execute on functions from public;
  for called, item in select key, value from jsonb_each(wanted -> 'functions')
    where changes ? concat('find.', key)
  loop
    begin
      execute item ->> 0;
    exception when invalid_function_definition or wrong_object_type then
      -- Another result or kind of routine.
      for statement in select 'drop routine ' || oid::regprocedure from pg_proc
        where pronamespace = 'find'::regnamespace and proname = called
      loop
        execute statement;
      end loop;
      execute item ->> 0;
    end;
    -- Those with other arguments, which it did not replace.
    for statement in select 'drop routine ' || pg_proc.oid::regprocedure from jsonb_each(found)
      join pg_proc on pg_proc.oid = to_regprocedure(key) and ctid::text = value ->> 'place'
      where proname = called
    loop
      execute statement;
    end loop;
    for statement in select distinct format('revoke all on routine %s from %s cascade',
        oid::regprocedure,
        case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end)
      from pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
      where pronamespace = 'find'::regnamespace and proname = called and grantee <> proowner
    loop
      execute statement;
    end loop;
    for statement in select value from jsonb_array_elements_text(item) with ordinality
      where ordinality > 1
    loop
      execute statement;
    end loop;
  end loop;
  execute read_finders into found using wanted;
  for called, item in select key, value from jsonb_each(found)
    where changes ? concat('find.', value ->> 'name')
  loop
    execute format('comment on routine %s is %L', called, item ->> 'digest');
  end loop;
  if not is_superuser then
    set local role none;
    execute format('revoke rowhouse_reader from %I', session_user);
  end if;
  set local role rowhouse_owner;
end
$renew$;
