-- Functions that only processes of an earlier release call, from 0.1.0 on. The release that no
-- longer upgrades from it drops them.

-- The login of a data service that is apart from identity does not read people: without address,
-- name and picture. A gateway of the previous release asks the data service.
create function rowhouse.read_key_person(app uuid, presented_proof bytea, app_slug text)
returns json language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  found_person json := rowhouse.read_caller(app, presented_proof, app_slug);
begin
  if found_person is null or pg_has_role(session_user, 'rowhouse_service', 'usage') then
    return found_person;
  end if;
  return json_build_object('id', found_person -> 'id', 'email', null, 'displayName', null,
    'avatarUrl', null, 'role', found_person -> 'role');
end
$$;
comment on function rowhouse.read_key_person is 'idempotent; null result';
grant execute on function rowhouse.read_key_person to rowhouse_service, rowhouse_data;

-- Both without a name of the person.
create function rowhouse.sign_in_by_link(
  link_id text, presented_proof bytea, fresh_hash text, fresh_digest bytea, fresh_secret_id text,
  presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, client_address text, device_name text,
  pending_id text, pending_digest bytea, factor_rule text
) returns text language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select rowhouse.accept_by_link(link_id, presented_proof, fresh_hash, fresh_digest,
    fresh_secret_id, presented, new_id, new_session_digest, new_identity_digest, new_secret_id,
    max_s, client_address, device_name, pending_id, pending_digest, factor_rule, null)
$$;
create function rowhouse.link_invited_person(
  who uuid, email text, presented_proof bytea, link_issuer text, link_subject text,
  new_digest bytea, new_secret_id text, provider text
) returns boolean language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  select rowhouse.accept_by_provider(who, email, presented_proof, link_issuer, link_subject,
    new_digest, new_secret_id, provider, null)
$$;
grant execute on function rowhouse.sign_in_by_link, rowhouse.link_invited_person
  to rowhouse_service, rowhouse_identity;

-- Such a process would drop the indexes that this release builds: its steps wait for this release.
create function rowhouse.claim_deferred_step(after bigint, lease_s integer)
returns table (step_id bigint, table_name text, step_name text, definition jsonb)
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select null::bigint, null::text, null::text, null::jsonb where false
$$;
grant execute on function rowhouse.claim_deferred_step to rowhouse_tables;

-- For one table or all: the recorded definition, the names of the built and of the unfinished
-- indexes, the hidden columns with keys, and the size.
create function rowhouse.read_indexes(
  wanted text, large_pages integer, rows_a_page integer
) returns json language sql stable
set search_path = pg_catalog, pg_temp as $$
  select json_build_object(
    'dialect', rowhouse.dialect(),
    'previews', (select to_json(features) from rowhouse.release),
    'tables', (select coalesce(json_agg(json_build_object('name', name,
        'stamp', rowhouse.stamp_of(name), 'definition', definition,
        'indexes', (select coalesce(json_agg(index_class.relname), '[]') from pg_index
          join pg_class as index_class on index_class.oid = indexrelid
          join pg_class as table_class on table_class.oid = indrelid
          where indisvalid and table_class.relname = tables.name
            and table_class.relnamespace = 'data'::regnamespace),
        'unfinished', (select coalesce(json_agg(index_name), '[]') from (
          select relname as index_name from pg_index join pg_class as index_class
            on index_class.oid = indexrelid where indrelid = relation.oid and not indisvalid
          union select deferred_steps.name from rowhouse.deferred_steps
            where table_name = tables.name and kind = 'index' and state <> 'done') as begun),
        'keys', (select coalesce(json_agg(attname), '[]') from pg_attribute
          where attrelid = relation.oid and attname like '#%' and not attisdropped),
        'isLarge', case when reltuples < 0
          then pg_stat_get_live_tuples(relation.oid) / rows_a_page else relpages end >= large_pages,
        -- From statistics: the size on disk would wait for a lock on the table.
        'bytes', (select sum(greatest(relpages, 0)::bigint * 8192) from pg_class
          where pg_class.oid = any (array(select relation.oid union all
            select indexrelid from pg_index where indrelid = relation.oid))),
        'isShared', exists (select from rowhouse.registrations
          where table_name = tables.name and app_id <> owner_app_id)) order by name), '[]')
      from rowhouse.tables join pg_class as relation on relname = tables.name
        and relnamespace = 'data'::regnamespace and relkind in ('r', 'p')
      where name = wanted or wanted is null))
$$;

-- Logs that an operator adds keys of columns to a table, in the transaction that adds them.
create function rowhouse.log_keys(wanted_table text, columns jsonb) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select rowhouse.log('operator', 'build_keys',
    details => jsonb_build_object('table', name, 'columns', columns))
  from rowhouse.tables where name = wanted_table
$$;
grant execute on function rowhouse.read_indexes, rowhouse.log_keys to rowhouse_tables;

-- The functions of apps' tables, each with a digest of its body.
create function rowhouse.read_bodies() returns json language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select coalesce(json_agg(json_build_object('signature', signature, 'digest', digest)), '[]')
  from rowhouse.list_bodies('', null, false)
$$;
grant execute on function rowhouse.read_bodies
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;
