-- Imports of files in the Console. The audit log has their beginning and their end, with the name
-- and the digest of the file, and the history of rows has what they wrote: all requests of an
-- import, or of its undo, are one act.

-- Records that an import begins, that it has ended, or that it was undone, with the last change
-- before it or of it: what it wrote is found between the two.
-- proves: admin
create function rowhouse.console_log_import(app_slug text, wanted_table text, step text,
  about jsonb) returns void as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  if step <> all ('{begin_import,import_rows,undo_import}') or not exists (
      select from rowhouse.registrations where app_id = app.id and table_name = wanted_table) then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  perform rowhouse.log(who::text, step, app => app.slug,
    details => about || jsonb_build_object('appId', app.id, 'table', wanted_table,
      case step when 'begin_import' then 'from' else 'until' end, rowhouse.last_history_id()));
end
$$;

-- The changes of an act in the history of a table. The first change of all has the number from
-- which the sequence starts.
create function rowhouse.changes_of_act(app uuid, wanted_table text, person text, act text,
  from_id bigint, until_id bigint) returns setof rowhouse.row_changes language sql stable
set search_path = pg_catalog, pg_temp as $$
  select * from rowhouse.row_changes
  where app_id = app and table_name = wanted_table and id >= from_id
    and (until_id is null or id <= until_id)
    and changed_by = concat_ws(' ', 'console', person, act)
$$;

-- Imports of a table and their undoing, newest first: of one file or one act, if its digest or its
-- id is given. Those of an act or a file are found in all of the log.
-- proves: admin; idempotent
create function rowhouse.console_list_imports(app_slug text, wanted_table text, of_digest text,
  of_act text, max_rows integer) returns jsonb as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  perform rowhouse.enter_app(app.id);
  perform set_config('enable_seqscan', 'off', true),
    set_config('plan_cache_mode', 'force_custom_plan', true);
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor), 'imports', (
    select coalesce(jsonb_agg(jsonb_build_object('act', act, 'isUndo', action = 'undo_import',
      'at', at, 'by', (select coalesce(display_name, email) from rowhouse.users
        where id::text = actor), 'personId', actor, 'file', details -> 'file',
      'rows', coalesce(details -> 'rows', '0'),
      'from', details -> 'from', 'until', coalesce(ended -> 'until', details -> 'until'),
      -- What it wrote, by the import itself.
      'ended', ended -> 'wrote',
      -- What the history has of it.
      'kept', (select jsonb_build_object('created', count(*) filter (where is_created),
          'deleted', count(*) filter (where after is null),
          'changed', count(*) filter (where after is not null and not is_created),
          'lastId', max(id))
        from rowhouse.changes_of_act(app.id, wanted_table, actor, act,
          (details ->> 'from')::bigint, coalesce(ended ->> 'until', details ->> 'until')::bigint)),
      'undone', (select jsonb_build_object('act', undone.details ->> 'act', 'at', undone.at)
        from rowhouse.audit as undone
        where undone.action = 'undo_import' and undone.id > begun.id
          and undone.details ->> 'of' = act order by undone.id desc limit 1))
      order by begun.id desc), '[]')
    from (
      select *, details ->> 'act' as act from rowhouse.audit
      where action = any ('{begin_import,undo_import}') and details ->> 'appId' = app.id::text
        and details ->> 'table' = wanted_table
        and (of_digest is null or details ->> 'digest' = of_digest)
        and (of_act is null or details ->> 'act' = of_act)
      order by id desc limit max_rows) as begun
    left join lateral (select audit.details as ended from rowhouse.audit
      where audit.action = 'import_rows' and audit.id > begun.id and audit.actor = begun.actor
        and audit.details ->> 'act' = act order by audit.id desc limit 1) as ends on true));
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
        from_id, until_id)
      where before_id is null or id < before_id order by id desc limit max_rows) as listed);
end
$$;
