-- Exports an app as an archive, and restores it. Only a member of `rowhouse_rows` reads and stores
-- rows: see rows.sql.

-- The head of an app's archive; no row if the app does not exist. Contains no key, secret or
-- password. The tables have the columns that the app declares or has declared.
create function rowhouse.describe_archive(app_slug text) returns json language sql stable
set search_path = pg_catalog, pg_temp as $$
  select json_build_object(
    'id', id, 'slug', slug, 'switches', rowhouse.switches_of(apps),
    'targets', rowhouse.targets_of(id),
    'limits', json_build_object('perMinute', requests_per_minute,
      'perMinuteOfKey', key_requests_per_minute),
    'tables', (select coalesce(json_agg(definition order by table_name), '[]')
      from rowhouse.registrations where app_id = apps.id and not is_ending),
    'migrations', (select coalesce(json_agg(case when joins is null then to_json(text)
        else json_build_object('text', text, 'joins', jsonb_path_query_array(joins, '$[*].text'))
        end order by seq), '[]')
      from rowhouse.migrations where app_id = apps.id),
    'roles', (select coalesce(json_agg(json_build_object('email', email, 'role', role)
        order by email), '[]')
      from rowhouse.grants join rowhouse.users on users.id = user_id where app_id = apps.id))
  from rowhouse.apps where slug = app_slug
$$;
comment on function rowhouse.describe_archive is 'null result';

-- The app's rows of a table after an id, ordered by id: one line of JSON per row, as many as fit
-- into the byte limit, but at least one. Equal rows produce equal lines.
create function rowhouse.read_rows(
  wanted_table text, names text[], app uuid, after uuid, max_rows integer, max_bytes integer,
  out lines text, out row_count integer, out last uuid
) language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
begin
  perform rowhouse.enter_app(app);
  execute format($query$
    select coalesce(string_agg(line || E'\n', '' order by id), ''), count(*)::integer,
      (array_agg(id order by id desc))[1]
    from (
      select id, line, row_number() over in_order as ordinal,
        sum(octet_length(line) + 1) over in_order as bytes
      from (
        select id, to_jsonb(part)::text as line
        from (
          select %s from data.%I where app_id = $1 and id > $2 order by id limit $3
        ) as part
      ) as created
      window in_order as (order by id)
    ) as measured
    where ordinal = 1 or bytes <= $4
  $query$, (select string_agg(quote_ident(name), ', ')
      from unnest(array_prepend('id', names)) as listed (name)), wanted_table)
  into lines, row_count, last using app, after, max_rows, max_bytes;
end
$$;
comment on function rowhouse.read_rows is 'idempotent; null last';

-- Stores lines of rows with their ids. The optional columns in "empty" get no value yet, because
-- referenced rows can be missing. One statement per row: on several nodes, an insert of selected
-- rows is a COPY, which forced row security rejects.
create function rowhouse.restore_rows(
  wanted_table text, names text[], empty text[], app uuid, lines text)
  returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp set datestyle = 'ISO' as $$
declare
  part text[];
  statement text := (
    select format('insert into data.%I (app_id, id%s) values ($1, ($2)[1]::uuid%s)', wanted_table,
      string_agg(format(', %I', name), '' order by ordinal),
      string_agg(case when name = any (empty) then ', null'
        else format(', ($2)[%s]::%s', ordinal + 1, format_type(atttypid, atttypmod)) end, ''
        order by ordinal))
    from unnest(names) with ordinality as listed (name, ordinal)
    left join pg_attribute
      on attrelid = ('data.' || quote_ident(wanted_table))::regclass and attname = name);
begin
  perform rowhouse.check_writes(app);
  perform rowhouse.enter_app(app);
  for part in
    execute (
      select format('select array[id::text%s] from jsonb_populate_recordset(null::data.%I, $1)',
        string_agg(format(', %I::text', name), '' order by ordinal), wanted_table)
      from unnest(names) with ordinality as listed (name, ordinal))
    using ('[' || replace(rtrim(lines, E'\n'), E'\n', ',') || ']')::jsonb
  loop
    execute statement using app, part;
  end loop;
end
$$;

-- Sets the omitted columns.
create function rowhouse.restore_references(
  wanted_table text, empty text[], app uuid, lines text
) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  part text[];
  -- References are ids.
  statement text := (
    select format('update data.%I set %s where app_id = $1 and id = ($2)[1]::uuid', wanted_table,
      string_agg(format('%I = ($2)[%s]::uuid', name, ordinal + 1), ', '))
    from unnest(empty) with ordinality as listed (name, ordinal));
begin
  perform rowhouse.check_writes(app);
  perform rowhouse.enter_app(app);
  for part in
    execute (
      select format('select array[id::text%s] from jsonb_populate_recordset(null::data.%I, $1)',
        string_agg(format(', %I::text', name), '' order by ordinal), wanted_table)
      from unnest(empty) with ordinality as listed (name, ordinal))
    using ('[' || replace(rtrim(lines, E'\n'), E'\n', ',') || ']')::jsonb
  loop
    execute statement using app, part;
  end loop;
end
$$;

grant create on schema rowhouse to rowhouse_rows;
alter function rowhouse.read_rows owner to rowhouse_rows;
alter function rowhouse.restore_rows owner to rowhouse_rows;
alter function rowhouse.restore_references owner to rowhouse_rows;
revoke create on schema rowhouse from rowhouse_rows;
