-- Imports of files in the Console. The audit log has their beginning and their end, with the name
-- and the digest of the file, and the history of rows has what they wrote: all requests of an
-- import, or of its undo, are one act.

-- Records that an import or its undo begins or has ended, with the last change before it or of it:
-- what it wrote is found between the two.
-- proves: admin
create function rowhouse.console_log_import(app_slug text, wanted_table text, step text,
  about jsonb) returns void as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  if step <> all ('{begin_import,import_rows,begin_undo,undo_import}') or not exists (
      select from rowhouse.registrations where app_id = app.id and table_name = wanted_table) then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  perform rowhouse.log(who::text, step, app => app.slug,
    details => about || jsonb_build_object('appId', app.id, 'table', wanted_table,
      case when step ^@ 'begin' then 'from' else 'until' end, rowhouse.last_history_id()));
end
$$;

-- The changes of an act in the history of a table, among the first max_looked after its beginning.
-- The first change of all has the number from which the sequence starts.
create function rowhouse.changes_of_act(app uuid, wanted_table text, person text, act text,
  from_id bigint, until_id bigint, max_looked integer) returns setof rowhouse.row_changes
language sql stable set search_path = pg_catalog, pg_temp as $$
  select * from (
    select * from rowhouse.row_changes
    where app_id = app and table_name = wanted_table and id >= from_id
      and (until_id is null or id <= until_id)
    order by id limit max_looked) as looked
  where changed_by = concat_ws(' ', 'console', person, act)
$$;

-- How an act ended, as its entry has it.
create function rowhouse.end_of_act(begun rowhouse.audit) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select details from rowhouse.audit
  where action = case begun.action when 'begin_undo' then 'undo_import' else 'import_rows' end
    and id > begun.id and actor = begun.actor and details ->> 'act' = begun.details ->> 'act'
  order by id desc limit 1
$$;

-- The beginning of the last undo of an act that wrote something and was not undone itself.
create function rowhouse.undo_of(of_app uuid, wanted_table text, begun rowhouse.audit)
returns rowhouse.audit language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  undo rowhouse.audit;
  ended jsonb;
begin
  for undo in select * from rowhouse.audit where action = 'begin_undo' and id > begun.id
      and details ->> 'appId' = of_app::text and details ->> 'of' = begun.details ->> 'act'
      order by id desc loop
    ended := rowhouse.end_of_act(undo);
    if (exists (select from jsonb_each_text(ended -> 'wrote') where value <> '0')
        or ended is null and exists (select from rowhouse.changes_of_act(of_app, wanted_table,
          undo.actor, undo.details ->> 'act', (undo.details ->> 'from')::bigint, null, 100000)))
      and (rowhouse.undo_of(of_app, wanted_table, undo)).id is null then
      return undo;
    end if;
  end loop;
  return null;
end
$$;

-- Imports of a table and their undoing, by their place in its history: their last change, or their
-- beginning without an end. Newest first; below a change, if before_id is set; of one file or one
-- act, if its digest or its id is given. In a list, an import without an end has its first changes
-- only: those of the table since then can be many.
-- proves: admin; idempotent
create function rowhouse.console_list_imports(app_slug text, wanted_table text, of_digest text,
  of_act text, before_id bigint, max_rows integer) returns jsonb as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  perform rowhouse.enter_app(app.id);
  perform set_config('enable_seqscan', 'off', true),
    set_config('plan_cache_mode', 'force_custom_plan', true);
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor), 'imports', (
    select coalesce(jsonb_agg(jsonb_build_object('act', act, 'isUndo', action = 'begin_undo',
      'at', begun.at, 'by', (select coalesce(display_name, email) from rowhouse.users
        where id = case when actor ~ '^[0-9a-f-]{36}$' then actor::uuid end),
      'personId', actor, 'file', details -> 'file', 'rows', coalesce(details -> 'rows', '0'),
      'from', details -> 'from', 'until', ended -> 'until', 'place', place,
      -- What it wrote, by the import itself.
      'ended', ended -> 'wrote',
      -- What the history has of it.
      'kept', (select jsonb_build_object('created', count(*) filter (where is_created),
          'deleted', count(*) filter (where after is null),
          'changed', count(*) filter (where after is not null and not is_created))
        from rowhouse.changes_of_act(app.id, wanted_table, actor, act,
          (details ->> 'from')::bigint, (ended ->> 'until')::bigint,
          case when ended is null and of_act is null then 100000 end)),
      'undone', (select jsonb_build_object('act', undone.details ->> 'act', 'at', undone.at)
        from rowhouse.undo_of(app.id, wanted_table, entry) as undone where undone.id is not null))
      order by place desc, begun.id desc), '[]')
    from (
      select audit.*, audit as entry, ended, audit.details ->> 'act' as act,
        coalesce(ended -> 'until', audit.details -> 'from')::bigint as place
      from rowhouse.audit cross join rowhouse.end_of_act(audit) as ended
      where action = any ('{begin_import,begin_undo}') and details ->> 'appId' = app.id::text
        and details ->> 'table' = wanted_table
        and (of_digest is null or details ->> 'digest' = of_digest)
        and (of_act is null or details ->> 'act' = of_act)
        and (before_id is null or coalesce(ended -> 'until', details -> 'from')::bigint < before_id)
      order by place desc, id desc limit max_rows) as begun));
end
$$;

-- The ids of the changes of an import, newest first, below a change if before_id is set, and of
-- their rows; and the last change of all.
-- proves: admin; idempotent
create function rowhouse.console_show_import(app_slug text, wanted_table text, of_person text,
  of_act text, from_id bigint, until_id bigint, before_id bigint, max_rows integer)
returns jsonb as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  perform rowhouse.enter_app(app.id);
  perform set_config('enable_seqscan', 'off', true),
    set_config('plan_cache_mode', 'force_custom_plan', true);
  return (
    select jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
      'lastId', rowhouse.last_history_id(), 'ids', coalesce(jsonb_agg(id order by id desc), '[]'),
      'rowIds', coalesce(jsonb_agg(row_id order by id desc), '[]'))
    from (select id, row_id from rowhouse.changes_of_act(app.id, wanted_table, of_person, of_act,
        from_id, until_id, null)
      where before_id is null or id < before_id order by id desc limit max_rows) as listed);
end
$$;
