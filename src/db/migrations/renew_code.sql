-- Gives the database the code of a release: functions, triggers, policies and rights. Reads the
-- statements from the setting rowhouse.wanted, and leaves the list of changes in the setting
-- rowhouse.renewed.
--
-- First it runs all statements in an empty place, reads the resulting definitions, and undoes
-- everything. Then it changes only what differs: an unchanged trigger or policy needs no lock on
-- its table, and sessions keep their plans of an unchanged function. A comment on rowhouse.code has
-- the digest of what this left: as long as it matches, there is nothing to try.
--
-- Objects that are not Rowhouse's can use a function that must be dropped: then it raises the
-- signal upgradeBlocked with their descriptions, before it changes anything.

do $renew$
declare
  wanted jsonb := current_setting('rowhouse.wanted')::jsonb;
  mode text := wanted ->> 'mode';
  probe text := 'code_probe_' || replace(gen_random_uuid()::text, '-', '');
  -- Members of an extension, and relations of an owner that rowhouse_owner is not a member of, are
  -- left alone.
  read_functions text := $query$
    select coalesce(jsonb_object_agg(pg_proc.oid::regprocedure, jsonb_build_object('name', proname,
      'signature', concat(pg_get_function_arguments(pg_proc.oid), ' returns ',
        pg_get_function_result(pg_proc.oid),
        case when not pg_has_role(proowner, 'usage') then ', of a foreign owner' end),
      'definition', case when prokind <> 'a' then pg_get_functiondef(pg_proc.oid) end,
      'owner', pg_get_userbyid(proowner),
      'comment', obj_description(pg_proc.oid, 'pg_proc'))), '{}')
    from pg_proc where pronamespace = 'rowhouse'::regnamespace
      and not $1 -> 'keeps' ? proname and not exists (select from pg_depend
        where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e') $query$;
  -- $2 is the table that the probe $3 stands for, if any.
  read_triggers text := $query$
    select coalesce(jsonb_object_agg(
      format('%I.%I', case when $2 = '' then relname else $2 end, tgname), concat(tgenabled, ' ',
      replace(pg_get_triggerdef(pg_trigger.oid), 'rowhouse.' || $3, 'rowhouse.' || $2))), '{}')
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = 'rowhouse'::regnamespace and not tgisinternal
      and pg_has_role(relowner, 'usage')
      and (relname = $3) = ($2 <> '') and not $1 -> 'keeps' ? relname $query$;
  read_policies text := $query$
    select coalesce(jsonb_object_agg(
      format('%I.%I', case when $2 = '' then relname else $2 end, polname),
      jsonb_build_array(polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid),
      pg_get_expr(polwithcheck, polrelid))), '{}')
    from pg_policy join pg_class on pg_class.oid = polrelid
    where relnamespace = 'rowhouse'::regnamespace and pg_has_role(relowner, 'usage')
      and (relname = $3) = ($2 <> '') and not $1 -> 'keeps' ? relname $query$;
  -- Rights of other roles than the owner, each as the rest of its statement. A role that may grant
  -- a right can have granted it to others: then the right has a fifth part.
  read_rights text := $query$
    with relations as (
      select * from pg_class where relnamespace = 'rowhouse'::regnamespace
        and relkind in ('r', 'p', 'v', 'm', 'S') and not $1 -> 'keeps' ? relname
        and not exists (select from pg_depend
          where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
    ), objects (object, owner, acl, part) as (
      select concat('function ', pg_proc.oid::regprocedure), proowner,
        coalesce(proacl, acldefault('f', proowner)), '' from pg_proc
        where pronamespace = 'rowhouse'::regnamespace and $1 -> 'names' ? proname
      union all
      select concat(case relkind when 'S' then 'sequence ' else 'table ' end,
        relations.oid::regclass), relowner, relacl, '' from relations
      union all
      select concat('table ', relations.oid::regclass), relowner, attacl,
        format(' (%I)', attname) from relations join pg_attribute on attrelid = relations.oid
        where relkind <> 'S' and not attisdropped
      union all
      select concat('schema ', nspname), nspowner, nspacl, '' from pg_namespace
        where nspname in ('rowhouse', 'data', 'api', 'find'))
    select coalesce(jsonb_agg(distinct jsonb_build_array(concat(privilege_type, part),
      object, case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
      is_grantable)
      || case when grantor = owner then '[]' else jsonb_build_array(pg_get_userbyid(grantor)) end),
      '[]')
    from objects, aclexplode(acl) where grantee <> owner and pg_has_role(owner, 'usage') $query$;
  functions jsonb;
  triggers jsonb;
  policies jsonb;
  rights jsonb;
  -- Functions that objects other than functions use: they cannot be dropped, only replaced.
  stays jsonb;
  -- Of these, the ones to drop, the ones that a new form cannot replace, and the names of functions
  -- that need a table of a missing file.
  doomed jsonb := '[]';
  unreplaced jsonb := '[]';
  skipped jsonb := '[]';
  blockers jsonb;
  new_functions jsonb := '{}';
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
  execute read_triggers into triggers using wanted, '', probe;
  execute read_policies into policies using wanted, '', probe;
  execute read_rights into rights using wanted;
  if (wanted -> 'hasCode')::boolean
    and obj_description(to_regclass('rowhouse.code')) = concat('Code ', encode(sha256(convert_to(
      concat(wanted ->> 'digest', functions, triggers, policies, rights), 'UTF8')), 'hex'))
  then
    perform set_config('rowhouse.renewed',
      '{"functions": {}, "triggers": {}, "policies": {}, "granted": [], "revoked": []}', true);
    return;
  end if;

  begin
    with recursive kept (oid) as (
      select refobjid from pg_depend where refclassid = 'pg_proc'::regclass
        and functions ? refobjid::regprocedure::text
        and case when classid = 'pg_proc'::regclass then not functions ? objid::regprocedure::text
          else true end
      union
      select refobjid from kept join pg_depend on classid = 'pg_proc'::regclass
        and objid = kept.oid and refclassid = 'pg_proc'::regclass
        where functions ? refobjid::regprocedure::text
    )
    select coalesce(jsonb_object_agg(oid::regprocedure, ''), '{}') into stays from kept;
    select string_agg(key, ', ') into names from jsonb_object_keys(functions) as keys (key)
      where not stays ? key;
    if names is not null then
      execute 'drop routine ' || names;
    end if;
    for called in select pg_proc.oid::regprocedure from jsonb_object_keys(stays) as keys (key)
      join pg_proc on pg_proc.oid = key::regprocedure
      where wanted -> 'names' ? proname and pg_has_role(proowner, 'usage')
    loop
      execute format('alter routine %s owner to rowhouse_owner', called);
      execute format('comment on routine %s is null', called);
    end loop;
    if mode <> 'check' then
      execute read_rights into found using wanted;
      for item in select jsonb_array_elements(found) loop
        execute format('revoke %s on %s from %s cascade', item ->> 0, item ->> 1, item ->> 2);
      end loop;
    end if;
    select coalesce(jsonb_object_agg(pg_proc.oid::regprocedure, pg_proc.ctid), '{}') into stays
      from jsonb_object_keys(stays) as keys (key) join pg_proc on pg_proc.oid = key::regprocedure;
    -- First the default rights: a new function is executable by everyone otherwise.
    for item in select value from jsonb_array_elements(wanted -> 'defaults') loop
      execute item #>> '{}';
    end loop;
    for item in select value from jsonb_array_elements(wanted -> 'functions') with ordinality
      as listed (value, nth) order by nth
    loop
      begin
        execute item ->> 'sql';
      exception when others then
        -- Another result, owner or kind of routine.
        if sqlstate in ('42P13', '42501', '42809') and exists (select from jsonb_object_keys(stays)
          as keys (key) where functions -> key ->> 'name' = item ->> 'name')
        then
          select unreplaced || jsonb_agg(key) into unreplaced from jsonb_object_keys(stays)
            as keys (key) where functions -> key ->> 'name' = item ->> 'name';
        elsif mode = 'check' and sqlstate like '42%' then
          skipped := skipped || jsonb_build_array(item ->> 'name');
        else
          raise;
        end if;
      end;
    end loop;
    -- A replaced function has another place in its catalog.
    select coalesce(jsonb_agg(key), '[]') into doomed from jsonb_each_text(stays)
      join pg_proc on pg_proc.oid = key::regprocedure
      where pg_proc.ctid::text = value and not skipped ? proname;
    if mode = 'check' then
      raise exception using errcode = 'RH026';
    end if;
    for item in select value from jsonb_array_elements(wanted -> 'rights') loop
      execute item #>> '{}';
    end loop;
    for called in select distinct value ->> 'table' from jsonb_array_elements(wanted -> 'onTables')
    loop
      execute format('create table rowhouse.%I (like rowhouse.%I)', probe, called);
      for item in select value from jsonb_array_elements(wanted -> 'onTables')
        where value ->> 'table' = called
      loop
        execute replace(item ->> 'probe', 'rowhouse.code_probe', 'rowhouse.' || probe);
      end loop;
      execute read_triggers into found using wanted, called, probe;
      new_triggers := new_triggers || found;
      execute read_policies into found using wanted, called, probe;
      new_policies := new_policies || found;
      execute format('drop table rowhouse.%I', probe);
    end loop;
    execute read_functions into new_functions using wanted;
    execute read_rights into new_rights using wanted;
    raise exception using errcode = 'RH026';
  exception when sqlstate 'RH026' then
    null; -- undoes everything except the variables
  end;
  select coalesce(jsonb_object_agg(key, value), '{}') into new_functions
    from jsonb_each(new_functions)
    where wanted -> 'names' ? (value ->> 'name') and not doomed ? key;

  -- A trigger or policy of a table of the service that uses a dropped function is dropped, too.
  with recursive dropped (oid) as (
    select value::regprocedure::oid from jsonb_array_elements_text(doomed)
    union
    select objid from dropped join pg_depend on refclassid = 'pg_proc'::regclass
      and refobjid = dropped.oid and classid = 'pg_proc'::regclass
      where functions ? objid::regprocedure::text
  )
  select jsonb_agg(distinct jsonb_build_array(case classid
      when 'pg_rewrite'::regclass then pg_describe_object('pg_class'::regclass, (select ev_class
        from pg_rewrite where pg_rewrite.oid = objid), 0)
      else pg_describe_object(classid, objid, objsubid) end, dropped.oid::regprocedure))
    into blockers
    from dropped join pg_depend on refclassid = 'pg_proc'::regclass and refobjid = dropped.oid
    where case
      when classid = 'pg_proc'::regclass then not functions ? objid::regprocedure::text
      when unreplaced ? dropped.oid::regprocedure::text
        or not doomed ? dropped.oid::regprocedure::text then true
      else not exists (select from pg_class
        where relnamespace = 'rowhouse'::regnamespace and pg_has_role(relowner, 'usage')
          and pg_class.oid = case classid
            when 'pg_trigger'::regclass then (select tgrelid from pg_trigger where oid = objid)
            when 'pg_policy'::regclass then (select polrelid from pg_policy where oid = objid) end)
      end;
  if mode = 'check' then
    perform set_config('rowhouse.renewed', coalesce(blockers, '[]')::text, true);
    return;
  elsif blockers is not null then
    raise exception using errcode = 'RH027', detail = blockers;
  end if;

  select jsonb_object_agg(kind, (select coalesce(jsonb_object_agg(coalesce(key, old.key), case
      when old.value is null then 'new' when new.value is null then 'dropped'
      else 'changed' end), '{}')
    from jsonb_each(later) as new full join jsonb_each(earlier) as old using (key)
    where new.value is distinct from old.value)) || jsonb_build_object(
      'granted', (select coalesce(jsonb_agg(value), '[]') from jsonb_array_elements(new_rights)
        where not rights @> jsonb_build_array(value)),
      'revoked', (select coalesce(jsonb_agg(value), '[]') from jsonb_array_elements(rights)
        where not new_rights @> jsonb_build_array(value)))
    into steps
    from (values ('functions', functions, new_functions), ('triggers', triggers, new_triggers),
      ('policies', policies, new_policies)) as kinds (kind, earlier, later);
  perform set_config('rowhouse.renewed', steps::text, true);
  if mode = 'try' then
    return;
  end if;

  for names in
    select format('drop trigger %I on %s', tgname, pg_class.oid::regclass)
      from pg_trigger join pg_class on pg_class.oid = tgrelid
      where relnamespace = 'rowhouse'::regnamespace and not tgisinternal
        and steps -> 'triggers' ->> format('%I.%I', relname, tgname) <> 'new'
    union all
    select format('drop policy %I on %s', polname, pg_class.oid::regclass)
      from pg_policy join pg_class on pg_class.oid = polrelid
      where relnamespace = 'rowhouse'::regnamespace
        and steps -> 'policies' ->> format('%I.%I', relname, polname) <> 'new'
  loop
    execute names;
  end loop;

  -- A function with another signature cannot be replaced, and neither can one that calls it in a
  -- body that PostgreSQL has parsed.
  with recursive dropped (oid) as (
    select key::regprocedure::oid from jsonb_each(functions) as old where case
      when stays ? key then doomed ? key
      else new_functions -> key ->> 'signature' is distinct from old.value ->> 'signature' end
    union
    select objid from dropped join pg_depend on refclassid = 'pg_proc'::regclass
      and refobjid = dropped.oid and classid = 'pg_proc'::regclass
  )
  select string_agg(oid::regprocedure::text, ', ') into names from dropped;
  if names is not null then
    execute 'drop routine ' || names;
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
    execute format('revoke %s on %s from %s cascade', item ->> 0, item ->> 1, item ->> 2);
  end loop;
  for item in select value from jsonb_array_elements(new_rights)
    where not rights @> jsonb_build_array(value)
  loop
    execute format('grant %s on %s to %s%s', item ->> 0, item ->> 1, item ->> 2,
      case when item -> 3 = 'true' then ' with grant option' else '' end);
  end loop;

  for item in select value from jsonb_array_elements(wanted -> 'onTables')
    where steps -> (value ->> 'kinds') ->
      format('%I.%I', value ->> 'table', value ->> 'name') is not null
  loop
    execute item ->> 'sql';
  end loop;

  execute read_functions into functions using wanted;
  execute read_triggers into triggers using wanted, '', probe;
  execute read_policies into policies using wanted, '', probe;
  execute read_rights into rights using wanted;
  execute format('comment on table rowhouse.code is %L', concat('Code ', encode(sha256(convert_to(
    concat(wanted ->> 'digest', functions, triggers, policies, rights), 'UTF8')), 'hex')));
end
$renew$;
