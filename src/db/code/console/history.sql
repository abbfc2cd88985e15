-- The history of an app's rows in the Console. Nothing else reads it: no key of an app, no person
-- of its pages and no function of a table.

-- Changes of a table, newest first: of one row, those with these ids, the deleted rows only, or
-- all; below a change, if before_id is set. A page has at most max_rows changes and about
-- max_bytes. Created rows only if is_deleted is null: processes of 0.1 do not know them. All
-- changes of the table are then without those of imports (imports.sql).
-- proves: admin; idempotent
create function rowhouse.console_show_history(app_slug text, wanted_table text, of_row uuid,
  wanted bigint[], is_deleted boolean, before_id bigint, max_rows integer, max_bytes integer)
returns jsonb as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
  declared jsonb;
  -- Changes up to here wait for an edit.
  edited bigint;
  texts text[];
  -- Who changed the rows of imports.
  imports text[];
begin
  select definition into declared from rowhouse.registrations where app_id = app.id
    and table_name = wanted_table;
  if declared is null then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  texts := array(select listed ->> 'name' from jsonb_array_elements(declared -> 'columns') as listed
    where listed ->> 'kind' in (${TEXT_KINDS}));
  perform rowhouse.enter_app(app.id);
  perform set_config('enable_seqscan', 'off', true),
    set_config('plan_cache_mode', 'force_custom_plan', true);
  select max(until) into edited from rowhouse.history_edits
    where app_id = app.id and (wanted_table = table_name or wanted_table = new_name);
  if is_deleted is null and of_row is null and wanted is null then
    imports := array(select concat_ws(' ', 'console', actor, details ->> 'act')
      from rowhouse.audit where action = any ('{begin_import,begin_undo}')
        and details ->> 'appId' = app.id::text and details ->> 'table' = wanted_table);
  end if;
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor), 'appId', app.id,
    'isDisabled', app.disabled_at is not null, 'isOn', 'history' = any (app.switches),
    'days', coalesce(app.history_days, ${HISTORY_DAYS}), 'isEdited', edited is not null,
    'definition', declared, 'changes', (
      select coalesce(jsonb_agg(jsonb_build_object('id', id, 'rowId', row_id,
        'at', to_char(changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        -- After a restore of the database, another request can have the same number.
        'act', coalesce(nullif(split_part(changed_by, ' ', 3), ''),
          concat_ws(' ', request, changed_at)),
        'by', rowhouse.history_actor(app.id, changed_by),
        'before', rowhouse.values_in_response(before, texts)::text,
        'after', rowhouse.values_in_response(after, texts)::text, 'isCaused', is_caused,
        'isCreated', is_created,
        -- Null: the limit of the history has deleted a later change of the row.
        'lastId', case when is_created and not is_overtaken then (
          select max(later.id) from rowhouse.row_changes as later where later.app_id = app.id
            and later.table_name = wanted_table and later.row_id = listed.row_id) end)
        order by id desc), '[]')
      from (
        select *, sum(bytes) over (order by id desc) - bytes as earlier
        from (
          select * from rowhouse.row_changes as change
          where change.app_id = app.id and change.table_name = wanted_table
            and change.id > coalesce(edited, 0)
            and change.changed_at > now()
              - make_interval(days => coalesce(app.history_days, ${HISTORY_DAYS}))
            and (of_row is null or change.row_id = of_row)
            and (wanted is null or change.id = any (wanted))
            and (is_deleted is null or not change.is_created
              and (not is_deleted or change.after is null))
            and (before_id is null or change.id < before_id)
            and (imports is null or change.changed_by <> all (imports))
          order by change.id desc limit max_rows) as measured) as listed
      where earlier < max_bytes));
end
$$;

-- What went with deleted rows: the changes of references that the same requests caused, by table
-- in the order to restore them, at most max_rows of each. Looks at the changes of each table around
-- those of the last ten requests: other requests record theirs at the same time.
-- proves: admin; idempotent
create function rowhouse.console_show_taken(app_slug text, wanted_table text, wanted bigint[],
  max_rows integer) returns jsonb as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  perform rowhouse.enter_app(app.id);
  perform set_config('enable_seqscan', 'off', true),
    set_config('plan_cache_mode', 'force_custom_plan', true);
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor), 'taken', (
    with recursive requests as (
      select request, changed_at, min(id) as first from rowhouse.row_changes
      where app_id = app.id and table_name = wanted_table and id = any (wanted) and after is null
        and request is not null
      group by request, changed_at order by min(id) desc limit 10),
    "references" as (
      select table_name as source, listed ->> 'table' as target
      from rowhouse.registrations cross join jsonb_array_elements(definition -> 'columns') as listed
      where app_id = app.id and listed ? 'table' and exists (select from requests)),
    reached as (
      select wanted_table as name, 0 as depth
      union
      select source, depth + (source <> target)::integer from reached
      join "references" on target = name where depth < 10)
    select coalesce(jsonb_agg(jsonb_build_object('table', name, 'ids', ids, 'rows', row_count)
      order by depth, name), '[]')
    from (select name, max(depth) as depth from reached group by name) as tables
    cross join lateral (
      select array_agg(id order by id) as ids, count(distinct row_id) as row_count
      from (
        select near.id, near.row_id
        from requests cross join lateral (
          (select change.* from rowhouse.row_changes as change
            where change.app_id = app.id and change.table_name = name and change.id > first
            order by change.id limit 2 * max_rows)
          union all
          (select change.* from rowhouse.row_changes as change
            where change.app_id = app.id and change.table_name = name and change.id < first
            order by change.id desc limit 2 * max_rows)) as near
        where near.request = requests.request and near.changed_at = requests.changed_at
          and near.is_caused and not (name = wanted_table and near.id = any (wanted))
        order by near.id limit max_rows) as caused) as found
    where ids is not null));
end
$$;

-- The stored values of a row, with decimals as the texts that responses have: a JSON number of a
-- response loses digits. Also of a decimal column that became one of texts.
create function rowhouse.values_in_response(stored jsonb, texts text[]) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select stored || coalesce((select jsonb_object_agg(name, stored ->> name)
    from unnest(texts) as listed (name) where jsonb_typeof(stored -> name) = 'number'), '{}')
$$;

-- Who changed a row: the kind, the id of a person or a key, and a name; null without a record. An
-- act of the Console follows the id.
create function rowhouse.history_actor(app uuid, changed_by text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select case split_part(changed_by, ' ', 1)
    when 'key' then (select jsonb_build_object('kind', 'key', 'id', key_id, 'name', name)
      from rowhouse.api_keys where app_id = app
        and digest = decode(split_part(changed_by, ' ', 2), 'hex') limit 1)
    else (select jsonb_build_object('kind', split_part(changed_by, ' ', 1), 'id', id,
        'name', coalesce(display_name, email))
      from rowhouse.users where id = split_part(changed_by, ' ', 2)::uuid) end
$$;
