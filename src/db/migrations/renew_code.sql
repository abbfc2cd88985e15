-- Gives the database the code of a release: functions, triggers, policies and rights. Reads the
-- statements from the setting rowhouse.wanted, and leaves the list of changes in the setting
-- rowhouse.renewed.
--
-- First it runs all statements in an empty place, reads the resulting definitions, and undoes
-- everything. Then it changes only what differs: an unchanged trigger or policy needs no lock on
-- its table, and sessions keep their plans of an unchanged function.

do $renew$
declare
  wanted jsonb := current_setting('rowhouse.wanted')::jsonb;
  is_dry boolean := (wanted ->> 'isDry')::boolean;
  probe text := 'rowhouse.code_probe';
  read_functions text := $query$
    select coalesce(jsonb_object_agg(pg_proc.oid::regprocedure, jsonb_build_object('name', proname,
      'signature', concat(pg_get_function_arguments(pg_proc.oid), ' returns ',
        pg_get_function_result(pg_proc.oid),
        case when not pg_has_role(proowner, 'usage') then ', of a foreign owner' end),
      'definition', pg_get_functiondef(pg_proc.oid), 'owner', pg_get_userbyid(proowner),
      'comment', obj_description(pg_proc.oid, 'pg_proc'))), '{}')
    from pg_proc where pronamespace = 'rowhouse'::regnamespace and prokind in ('f', 'p')
      and not $1 -> 'keeps' ? proname $query$;
  read_triggers text := $query$
    select coalesce(jsonb_object_agg(concat(relname, '.', tgname), concat(tgenabled, ' ',
      replace(pg_get_triggerdef(pg_trigger.oid), 'rowhouse.code_probe', $2))), '{}')
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = 'rowhouse'::regnamespace and not tgisinternal
      and (relname = 'code_probe') = ($2 <> '') and not $1 -> 'keeps' ? relname $query$;
  read_policies text := $query$
    select coalesce(jsonb_object_agg(concat(relname, '.', polname), jsonb_build_array(polcmd,
      polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid),
      pg_get_expr(polwithcheck, polrelid))), '{}')
    from pg_policy join pg_class on pg_class.oid = polrelid
    where relnamespace = 'rowhouse'::regnamespace
      and (relname = 'code_probe') = ($2 <> '') and not $1 -> 'keeps' ? relname $query$;
  -- Rights of other roles than the owner, each as the rest of its statement.
  read_rights text := $query$
    with objects (object, owner, acl, part) as (
      select concat('function ', pg_proc.oid::regprocedure), proowner,
        coalesce(proacl, acldefault('f', proowner)), '' from pg_proc
        where pronamespace = 'rowhouse'::regnamespace and $1 -> 'names' ? proname
      union all
      select concat(case relkind when 'S' then 'sequence ' else 'table ' end,
        pg_class.oid::regclass), relowner, relacl, '' from pg_class
        where relnamespace = 'rowhouse'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
          and not $1 -> 'keeps' ? relname
      union all
      select concat('table ', pg_class.oid::regclass), relowner, attacl,
        format(' (%I)', attname) from pg_class join pg_attribute on attrelid = pg_class.oid
        where relnamespace = 'rowhouse'::regnamespace and relkind in ('r', 'p', 'v', 'm')
          and not attisdropped and not $1 -> 'keeps' ? relname
      union all
      select concat('schema ', nspname), nspowner, nspacl, '' from pg_namespace
        where nspname in ('rowhouse', 'data', 'api'))
    select coalesce(jsonb_agg(distinct jsonb_build_array(concat(privilege_type, part),
      object, case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
      is_grantable)), '[]')
    from objects, aclexplode(acl) where grantee <> owner $query$;
  functions jsonb;
  triggers jsonb;
  policies jsonb;
  rights jsonb;
  new_functions jsonb;
  new_triggers jsonb := '{}';
  new_policies jsonb := '{}';
  new_rights jsonb;
  found jsonb;
  item jsonb;
  called text;
  names text;
  steps jsonb;
begin
  execute read_functions into functions using wanted;
  execute read_triggers into triggers using wanted, '';
  execute read_policies into policies using wanted, '';
  execute read_rights into rights using wanted;

  begin
    -- A function of a trigger or constraint stays, and is replaced.
    select string_agg(key, ', ') into names from jsonb_object_keys(functions) as keys (key)
      where not exists (select from pg_depend where refclassid = 'pg_proc'::regclass
        and refobjid = key::regprocedure and classid <> 'pg_proc'::regclass);
    if names is not null then
      execute 'drop function ' || names;
    end if;
    execute read_functions into found using wanted;
    for called in select key from jsonb_each(found) where wanted -> 'names' ? (value ->> 'name')
    loop
      execute format('alter function %s owner to rowhouse_owner', called);
      execute format('comment on function %s is null', called);
    end loop;
    execute read_rights into found using wanted;
    for item in select jsonb_array_elements(found) loop
      execute format('revoke %s on %s from %s', item ->> 0, item ->> 1, item ->> 2);
    end loop;
    -- First the default rights: a new function is executable by everyone otherwise.
    for item in select value from jsonb_array_elements(wanted -> 'defaults')
      union all select value -> 'sql' from jsonb_array_elements(wanted -> 'functions')
      union all select value from jsonb_array_elements(wanted -> 'rights')
    loop
      execute item #>> '{}';
    end loop;
    for called in select distinct value ->> 'table' from jsonb_array_elements(wanted -> 'onTables')
    loop
      execute format('create table %s (like rowhouse.%I)', probe, called);
      for item in select value from jsonb_array_elements(wanted -> 'onTables')
        where value ->> 'table' = called
      loop
        execute item ->> 'probe';
      end loop;
      execute read_triggers into found using wanted, 'rowhouse.' || called;
      select new_triggers || coalesce(jsonb_object_agg(replace(key, 'code_probe.',
        called || '.'), value), '{}') into new_triggers from jsonb_each(found);
      execute read_policies into found using wanted, called;
      select new_policies || coalesce(jsonb_object_agg(replace(key, 'code_probe.',
        called || '.'), value), '{}') into new_policies from jsonb_each(found);
      execute format('drop table %s', probe);
    end loop;
    execute read_functions into new_functions using wanted;
    execute read_rights into new_rights using wanted;
    raise exception using errcode = 'RH026';
  exception when sqlstate 'RH026' then
    null; -- undoes everything except the variables
  end;
  select coalesce(jsonb_object_agg(key, value), '{}') into new_functions
    from jsonb_each(new_functions) where wanted -> 'names' ? (value ->> 'name');

  select jsonb_build_object(
    'functions', (select coalesce(jsonb_object_agg(coalesce(key, old.key), case
        when old.value is null then 'new' when new.value is null then 'dropped'
        else 'changed' end), '{}')
      from jsonb_each(new_functions) as new full join jsonb_each(functions) as old using (key)
      where new.value is distinct from old.value),
    'triggers', (select coalesce(jsonb_object_agg(key, case
        when old.value is null then 'new' when new.value is null then 'dropped'
        else 'changed' end), '{}')
      from jsonb_each(new_triggers) as new full join jsonb_each(triggers) as old using (key)
      where new.value is distinct from old.value),
    'policies', (select coalesce(jsonb_object_agg(key, case
        when old.value is null then 'new' when new.value is null then 'dropped'
        else 'changed' end), '{}')
      from jsonb_each(new_policies) as new full join jsonb_each(policies) as old using (key)
      where new.value is distinct from old.value),
    'granted', (select coalesce(jsonb_agg(value), '[]') from jsonb_array_elements(new_rights)
      where not rights @> jsonb_build_array(value)),
    'revoked', (select coalesce(jsonb_agg(value), '[]') from jsonb_array_elements(rights)
      where not new_rights @> jsonb_build_array(value)))
    into steps;
  perform set_config('rowhouse.renewed', steps::text, true);
  if is_dry then
    return;
  end if;

  for item in select jsonb_build_array(listed.kind, key, value)
    from (values ('trigger', steps -> 'triggers'), ('policy', steps -> 'policies'))
      as listed (kind, changes), jsonb_each_text(changes) where value <> 'new'
  loop
    execute format('drop %s %I on rowhouse.%I', item ->> 0, split_part(item ->> 1, '.', 2),
      split_part(item ->> 1, '.', 1));
  end loop;

  -- A function with another signature cannot be replaced, and neither can one that calls it in a
  -- body that PostgreSQL has parsed.
  with recursive dropped (oid) as (
    select key::regprocedure::oid from jsonb_each(functions) as old
    where new_functions -> key ->> 'signature' is distinct from old.value ->> 'signature'
    union
    select objid from dropped join pg_depend on refclassid = 'pg_proc'::regclass
      and refobjid = dropped.oid and classid = 'pg_proc'::regclass
  )
  select string_agg(oid::regprocedure::text, ', ') into names from dropped;
  if names is not null then
    execute 'drop function ' || names;
  end if;
  for item in select value from jsonb_array_elements(wanted -> 'defaults') loop
    execute item #>> '{}';
  end loop;
  execute read_functions into functions using wanted;
  for item in select value from jsonb_array_elements(wanted -> 'functions') with ordinality
    as listed (value, nth)
    where exists (select from jsonb_each(new_functions) as new
      where new.value ->> 'name' = listed.value ->> 'name'
        and new.value -> 'definition' is distinct from functions -> key -> 'definition')
    order by nth
  loop
    execute item ->> 'sql';
  end loop;

  execute read_functions into functions using wanted;
  for called, item in select key, new.value from jsonb_each(new_functions) as new
    where new.value -> 'owner' <> functions -> key -> 'owner'
  loop
    -- The new owner needs this right for a moment; rowhouse_owner has it.
    if item ->> 'owner' = current_user then
      execute format('alter function %s owner to %I', called, item ->> 'owner');
    else
      execute format('grant create on schema rowhouse to %I', item ->> 'owner');
      execute format('alter function %s owner to %I', called, item ->> 'owner');
      execute format('revoke create on schema rowhouse from %I', item ->> 'owner');
    end if;
  end loop;
  for called, item in select key, new.value from jsonb_each(new_functions) as new
    where new.value -> 'comment' <> functions -> key -> 'comment'
  loop
    execute format('comment on function %s is %L', called, item ->> 'comment');
  end loop;

  execute read_rights into rights using wanted;
  for item in select value from jsonb_array_elements(rights)
    where not new_rights @> jsonb_build_array(value)
  loop
    execute format('revoke %s on %s from %s', item ->> 0, item ->> 1, item ->> 2);
  end loop;
  for item in select value from jsonb_array_elements(new_rights)
    where not rights @> jsonb_build_array(value)
  loop
    execute format('grant %s on %s to %s%s', item ->> 0, item ->> 1, item ->> 2,
      case when item -> 3 = 'true' then ' with grant option' else '' end);
  end loop;

  for item in select value from jsonb_array_elements(wanted -> 'onTables')
    where steps -> (value ->> 'kinds') -> concat(value ->> 'table', '.', value ->> 'name')
      is not null
  loop
    execute item ->> 'sql';
  end loop;
  for item in select value from jsonb_array_elements(wanted -> 'rows') loop
    execute item #>> '{}';
  end loop;
end
$renew$;
