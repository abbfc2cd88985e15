-- setup

-- The service's roles and their memberships. Idempotent.
--
-- Roles belong to the whole cluster, and none of these can log in. `rowhouse_owner` owns the
-- schemas and everything in `rowhouse`. `rowhouse_tables` owns only apps' tables and types: the
-- pushing login is a member of it, and accesses the service's own tables only by grants.
-- `rowhouse_tenant` owns the generated functions, owns no table and does not bypass row security.
-- A serving login is a member of another role, which can only EXECUTE functions and read tables
-- with a grant: `rowhouse_service` for a process that serves everything,
-- `rowhouse_gateway`, `rowhouse_data` and `rowhouse_identity` for processes that serve one part
-- each. `rowhouse_console` can only execute the actions of administrators, which verify the user.
-- Commands count and delete apps' rows as a member of `rowhouse_rows`, never as an administrator:
-- it has no more rights than a push.

do $$
declare
  role_name text;
begin
  foreach role_name in array array['rowhouse_owner', 'rowhouse_tables', 'rowhouse_tenant',
    'rowhouse_service', 'rowhouse_gateway', 'rowhouse_data', 'rowhouse_identity',
    'rowhouse_console', 'rowhouse_rows'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin nosuperuser nocreatedb nocreaterole nobypassrls',
          role_name);
      exception when duplicate_object or unique_violation then
        null; -- another database of this cluster was faster
      end;
    end if;
  end loop;
  -- The creator of a function transfers it to its owner; an administrator has all rights of a
  -- push.
  if not pg_has_role('rowhouse_tables', 'rowhouse_tenant', 'usage') then
    grant rowhouse_tenant to rowhouse_tables;
  end if;
  if not pg_has_role('rowhouse_owner', 'rowhouse_tables', 'usage') then
    grant rowhouse_tables to rowhouse_owner;
  end if;
  if not pg_has_role('rowhouse_rows', 'rowhouse_tables', 'usage') then
    grant rowhouse_tables to rowhouse_rows;
  end if;
  if not pg_has_role('rowhouse_owner', 'rowhouse_rows', 'usage') then
    grant rowhouse_rows to rowhouse_owner;
  end if;
end
$$;

alter role rowhouse_owner login;
alter role rowhouse_tables login;
alter role rowhouse_rows login;
execute format('alter role rowhouse_owner in database %I set lock_timeout = ''700ms''', current_database());
execute format('alter role rowhouse_tables in database %I set lock_timeout = ''700ms''', current_database());
execute format('alter role rowhouse_rows in database %I set lock_timeout = ''700ms''', current_database());
execute format('revoke temporary on database %I from public', current_database());
create schema if not exists rowhouse authorization rowhouse_owner;
create schema if not exists data authorization rowhouse_owner;
create schema if not exists api authorization rowhouse_owner;
-- Rights of the roles in the schemas; run by their owner or a superuser. Idempotent.

alter default privileges for role rowhouse_owner revoke execute on functions from public;
alter default privileges for role rowhouse_tables revoke execute on functions from public;
grant usage, create on schema data to rowhouse_tables;
grant usage, create on schema api to rowhouse_tables, rowhouse_tenant;
grant usage on schema data to rowhouse_tenant;
grant usage on schema api to rowhouse_service, rowhouse_data;
grant usage on schema rowhouse
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity,
    rowhouse_console;


do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  set local citus.multi_shard_modify_mode = 'sequential';
  create table if not exists rowhouse.shards (app_id uuid primary key);
  alter table rowhouse.shards owner to rowhouse_owner;
  grant select, delete on rowhouse.shards to rowhouse_rows;
  if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'rowhouse.shards'::regclass) then
    perform create_distributed_table('rowhouse.shards', 'app_id', colocate_with := 'none', shard_count := 8);
  end if;
  if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'rowhouse.proofs'::regclass) then
    perform create_distributed_table('rowhouse.proofs', 'app_id', colocate_with := 'rowhouse.shards');
    perform truncate_local_data_after_distributing_table('rowhouse.proofs');
  end if;
  if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'rowhouse.idempotency_keys'::regclass) then
    perform create_distributed_table('rowhouse.idempotency_keys', 'app_id', colocate_with := 'rowhouse.shards');
    perform truncate_local_data_after_distributing_table('rowhouse.idempotency_keys');
  end if;
  if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'rowhouse.tag_seed'::regclass) then
    perform create_reference_table('rowhouse.tag_seed');
  end if;
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  set local citus.enable_ddl_propagation = 'off';
  create or replace function rowhouse.enter_app(app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('rowhouse.app_id', app::text, true);
  perform set_config('citus.propagate_set_commands', 'local', true);
  execute format('do $block$ begin set local rowhouse.app_id = %1$L; delete from rowhouse.shards where app_id = %1$L; end $block$', app);
  perform set_config('citus.propagate_set_commands', 'none', true);
end
$$;
  create or replace function rowhouse.delete_proof(app uuid, proof_digest bytea) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('rowhouse.app_id', app::text, true);
  perform set_config('citus.propagate_set_commands', 'local', true);
  execute format('do $block$ begin set local rowhouse.app_id = %1$L; delete from rowhouse.proofs where app_id = %1$L and digest = %2$L; end $block$', app, one);
  perform set_config('citus.propagate_set_commands', 'none', true);
end
$$;
  create or replace function rowhouse.delete_stored(app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('rowhouse.app_id', app::text, true);
  perform set_config('citus.propagate_set_commands', 'local', true);
  execute format('do $block$ begin set local rowhouse.app_id = %1$L; delete from rowhouse.proofs where app_id = %1$L; delete from rowhouse.idempotency_keys where app_id = %1$L; end $block$', app);
  perform set_config('citus.propagate_set_commands', 'none', true);
end
$$;
  create or replace function rowhouse.drop_part(statement text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute statement;
end
$$;
grant create on schema rowhouse to rowhouse_rows;
alter function rowhouse.drop_part(text) owner to rowhouse_rows;
revoke create on schema rowhouse from rowhouse_rows;
grant execute on function rowhouse.drop_part(text) to rowhouse_owner;
revoke execute on function rowhouse.drop_part(text) from public;
create or replace function rowhouse.drop_tables(names text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  statements text[];
  statement text;
begin
  perform set_config('lock_timeout', '700ms', true);
  statements := array(
    select format('drop function %s', pg_proc.oid::regprocedure) from pg_proc
    where pronamespace = 'api'::regnamespace and exists (
      select from (select table_name, hash from rowhouse.column_sets
        union all select table_name, hash from rowhouse.views) as generated
      where table_name = any (names)
        and starts_with(proname::text, left(table_name, 32) || '__' || hash || '_'))
  ) || array(
    select 'drop table ' || string_agg(format('data.%I', name), ', ')
      from unnest(names) as listed (name)
  ) || array(
    select distinct format('drop type data.%I', typname)
    from unnest(names) as listed (name)
    join pg_attribute on attrelid = format('data.%I', name)::regclass
    join pg_type on pg_type.oid = atttypid and typnamespace = 'data'::regnamespace
  );
  foreach statement in array statements loop
    perform rowhouse.drop_part(statement);
  end loop;
  delete from rowhouse.column_sets where table_name = any (names);
  delete from rowhouse.views where table_name = any (names);
  delete from rowhouse.deferred_steps where table_name = any (names);
  delete from rowhouse.tables where name = any (names);
end
$$;
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  perform create_distributed_function('rowhouse.reject_key()');
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  perform create_distributed_function('rowhouse.reject_call(uuid, bytea, text)');
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  perform create_distributed_function('rowhouse.reject_write(uuid, bytea, text, bytea)');
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  perform create_distributed_function('rowhouse.reject_row(uuid)');
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  perform create_distributed_function('rowhouse.only_ids(text)');
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  perform create_distributed_function('rowhouse.claim_key(uuid, bytea, bytea, text, text)');
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  perform create_distributed_function('rowhouse.complete_key(uuid, bytea, text)');
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  perform create_distributed_function('rowhouse.forget_key(uuid, bytea)');
end
$rowhouse$;
select 1

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
  set local citus.enable_ddl_propagation = 'off';
  -- Nodes that migrate has set up. Other nodes get no shards: they lack roles and rights, so apps
-- whose rows moved there would fail.
create table if not exists rowhouse.nodes (id integer primary key);
alter table rowhouse.nodes owner to rowhouse_owner;
grant select on rowhouse.nodes
  to rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- Excludes a new node from rebalancing, and makes Citus reject moves of shards to it. Owned by the
-- superuser who migrates: Citus changes the node's property on every node as the caller.
create or replace function rowhouse.hold_new_nodes() returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false)
    from pg_dist_node
    where noderole = 'primary' and groupid <> 0 and shouldhaveshards
      and nodeid not in (select id from rowhouse.nodes);
end
$$;
revoke execute on function rowhouse.hold_new_nodes from public;
grant execute on function rowhouse.hold_new_nodes
  to rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- The rebalancer calls it before a service has excluded the node.
create or replace function rowhouse.may_have_shard(shard bigint, node integer) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.nodes where id = node)
$$;
alter function rowhouse.may_have_shard owner to rowhouse_owner;
revoke execute on function rowhouse.may_have_shard from public;

  if not exists (select from pg_catalog.pg_dist_rebalance_strategy where name = 'rowhouse') then
    perform pg_catalog.citus_add_rebalance_strategy('rowhouse', 'citus_shard_cost_by_disk_size', 'citus_node_capacity_1',
      'rowhouse.may_have_shard', 0.1, 0.01, 0.5);
    perform pg_catalog.citus_set_default_rebalance_strategy('rowhouse');
  end if;
end
$rowhouse$;
select 1

select pg_catalog.replicate_reference_tables('block_writes')

declare
  routine regprocedure;
begin
  for routine in select oid from pg_catalog.pg_proc
    where pronamespace in ('rowhouse'::regnamespace, 'api'::regnamespace)
      and pg_catalog.has_function_privilege('public', oid, 'execute') loop
    execute format('revoke execute on routine %s from public', routine);
  end loop;
end;

-- the first push

do $rowhouse$ begin perform rowhouse.hold_release('0d8d2c2695ad180cc05fa4d794b74048'); perform rowhouse.lock_push(array['app 00000000-0000-4000-8000-00000000000a', 'table projects', 'table todos'], '{"projects":0,"todos":0}', '00000000-0000-4000-8000-00000000000a', 0); if (select to_json(features) from rowhouse.release)::pg_catalog.jsonb <> '[]'::pg_catalog.jsonb then raise exception 'the previews have changed' using errcode = 'RH002'; end if; end $rowhouse$;
set local statement_timeout = '120000ms';
set local lock_timeout = '700ms';
set local citus.multi_shard_modify_mode = 'sequential';
set local role rowhouse_tables;
do $rowhouse$
begin create table data."projects" (
  "app_id" pg_catalog.uuid not null,
  "id" pg_catalog.uuid not null,
  "name" pg_catalog.text not null,
  constraint "projects__pkey" primary key ("app_id", "id")
); end
$rowhouse$;
do $rowhouse$
begin alter table data."projects" enable row level security; end
$rowhouse$;
do $rowhouse$
begin alter table data."projects" force row level security; end
$rowhouse$;
do $rowhouse$
begin create policy tenant on data."projects" for all to public
  using (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)
  with check (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid); end
$rowhouse$;
do $rowhouse$
begin grant select, insert, update, delete on data."projects" to rowhouse_tenant; end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_table('data."projects"', 'app_id', colocate_with := 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin create type data."todos__status__enum" as enum ('open', 'done'); end
$rowhouse$;
do $rowhouse$
begin create table data."todos" (
  "app_id" pg_catalog.uuid not null,
  "id" pg_catalog.uuid not null,
  "title" pg_catalog.text not null,
  "status" data."todos__status__enum" not null default 'open'::data."todos__status__enum",
  "project" pg_catalog.uuid,
  "estimate_hours" pg_catalog.numeric,
  "checklist" pg_catalog.jsonb,
  constraint "todos__pkey" primary key ("app_id", "id")
); end
$rowhouse$;
do $rowhouse$
begin alter table data."todos" enable row level security; end
$rowhouse$;
do $rowhouse$
begin alter table data."todos" force row level security; end
$rowhouse$;
do $rowhouse$
begin create policy tenant on data."todos" for all to public
  using (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)
  with check (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid); end
$rowhouse$;
do $rowhouse$
begin grant select, insert, update, delete on data."todos" to rowhouse_tenant; end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_table('data."todos"', 'app_id', colocate_with := 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin create unique index "projects__name__key" on data."projects" ("app_id", pg_catalog.sha256(pg_catalog.decode(pg_catalog.replace("name", E'\\', E'\\\\'), 'escape'))) where "name" is not null; end
$rowhouse$;
do $rowhouse$
begin create index "todos__status__idx" on data."todos" ("app_id", "status") where "status" is not null; end
$rowhouse$;
do $rowhouse$
begin create index "todos__project__idx" on data."todos" ("app_id", "project") where "project" is not null; end
$rowhouse$;
do $rowhouse$
begin alter table data."todos" add constraint "todos__project__fkey" foreign key ("app_id", "project") references data."projects" ("app_id", "id") on delete cascade; end
$rowhouse$;
set local citus.enable_ddl_propagation = 'off';
create or replace function api."projects__f3372e0ef5f0dfe7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) returns pg_catalog.text language plpgsql stable security definer as $rowhouse$
-- The endpoint list of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$states" pg_catalog.bytea;
  "$first" pg_catalog.uuid;
  "$tag" pg_catalog.text;
  "$head" pg_catalog.text;
  "$found" pg_catalog.int8;
  "$size" pg_catalog.int8;
  "$text" pg_catalog.text;
  "$one" pg_catalog.record;
  "$rows" pg_catalog.text[] := '{}';
  "$count" pg_catalog.int8 := 0;
  "$bytes" pg_catalog.int8 := 0;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true),
    pg_catalog.set_config('jit', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 1::pg_catalog.int2) operator(pg_catalog.=) 1::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_call($1, $2, 'projects');
  end if;
  select pg_catalog.string_agg("$row"."$state", ''::pg_catalog.bytea),
    pg_catalog.count(*), coalesce(pg_catalog.sum("$row"."$size"), 0)
  into "$states", "$found", "$size" from (
    select pg_catalog.uuid_send("$t"."id") operator(pg_catalog.||) pg_catalog.xidsend("$t"."xmin") operator(pg_catalog.||) pg_catalog.tidsend("$t"."ctid") as "$state", (coalesce(pg_catalog.octet_length("$t"."name"), 0)::pg_catalog.int8 operator(pg_catalog.+) 118::pg_catalog.int8) as "$size"
    from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 order by "$t"."id" limit $3 operator(pg_catalog.+) 1 offset $4) as "$row";
  "$first" := pg_catalog.encode(pg_catalog.substring("$states", 1, 16), 'hex')::pg_catalog.uuid;
  "$tag" := pg_catalog.left(pg_catalog.encode(pg_catalog.sha256((select "$seed"."value" from rowhouse."tag_seed" as "$seed" where "$seed"."is_only") operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.pg_postmaster_start_time()) operator(pg_catalog.||) 'f3372e0ef5f0dfe7'::pg_catalog.bytea operator(pg_catalog.||) pg_catalog.int4send($3) operator(pg_catalog.||) pg_catalog.int4send($4) operator(pg_catalog.||) pg_catalog.int4send($5) operator(pg_catalog.||) coalesce("$states", ''::pg_catalog.bytea)), 'hex'), 32);
  "$head" := pg_catalog.concat("$tag", $1, ' f3372e0ef5f0dfe7 ', $3, ' ', $4, ' ');
  if "$size" operator(pg_catalog.>) $7 or "$tag" operator(pg_catalog.=) any (pg_catalog.string_to_array($6, ',')) then
    return "$head";
  end if;
  if "$size" operator(pg_catalog.<=) 786432 then
    select pg_catalog.concat("$head", '{"rows":[', pg_catalog.string_agg(pg_catalog.row_to_json("$row")::pg_catalog.text, ','), '],"limit":', $3, ',"offset":', $4, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) $3 then 'true' else 'false' end, '}')
    into "$text" from (select "$t"."id", "$t"."app_id", "$t"."name" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1
      and "$t"."id" operator(pg_catalog.>=) "$first" order by "$t"."id" limit $3) as "$row";
    if pg_catalog.octet_length("$text") operator(pg_catalog.<=) $5 then
      return "$text";
    end if;
  end if;
  for "$one" in select "$t"."id", "$t"."app_id", "$t"."name" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1
      and "$t"."id" operator(pg_catalog.>=) "$first" order by "$t"."id" limit $3 loop
    exit when "$bytes" operator(pg_catalog.>) $5;
    "$text" := case when (coalesce(pg_catalog.octet_length("$one"."name"), 0)::pg_catalog.int8) operator(pg_catalog.<=) $5 then pg_catalog.row_to_json("$one")::pg_catalog.text end;
    if "$text" is null or pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
      if "$count" operator(pg_catalog.=) 0 then
        return rowhouse.reject_row("$one"."id");
      end if;
      exit;
    end if;
    "$rows" := pg_catalog.array_append("$rows", "$text");
    "$count" := "$count" operator(pg_catalog.+) 1;
    "$bytes" := "$bytes" operator(pg_catalog.+) pg_catalog.octet_length("$text");
  end loop;
  return pg_catalog.concat("$head", '{"rows":[', pg_catalog.array_to_string("$rows", ','), '],"limit":', $3, ',"offset":', $4, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) "$count" then 'true' else 'false' end, '}');
end
$rowhouse$;
alter function api."projects__f3372e0ef5f0dfe7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) owner to rowhouse_tenant;
revoke all on function api."projects__f3372e0ef5f0dfe7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) from public;
grant execute on function api."projects__f3372e0ef5f0dfe7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) to rowhouse_service, rowhouse_data;
create or replace function api."projects__f3372e0ef5f0dfe7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint get of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  "$text" := case when exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 1::pg_catalog.int2) operator(pg_catalog.=) 1::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then (
    select pg_catalog.row_to_json("$row")::pg_catalog.text
    from (select "$t"."id", "$t"."app_id", "$t"."name" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) as "$row"
  ) else rowhouse.reject_call($1, $2, 'projects') end;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $4 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."projects__f3372e0ef5f0dfe7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) owner to rowhouse_tenant;
revoke all on function api."projects__f3372e0ef5f0dfe7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) from public;
grant execute on function api."projects__f3372e0ef5f0dfe7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) to rowhouse_service, rowhouse_data;
create or replace function api."projects__f3372e0ef5f0dfe7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint create of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$body" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$v0" pg_catalog.text := ("$body" operator(pg_catalog.->>) 'name')::pg_catalog.text;
  "$row" pg_catalog.record;
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'projects', $6);
  end if;
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, (select pg_catalog.row_to_json("$new")::pg_catalog.text from (select $3 as "id", $1 as "app_id", "$v0" as "name") as "$new"), pg_catalog.concat('{"id":"', $3, '"}'));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  insert into data."projects" as "$t" ("app_id", "id", "name")
  values ($1, $3, "$v0")
  returning "$t"."id", "$t"."app_id", "$t"."name" into "$row";
  "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."projects__f3372e0ef5f0dfe7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."projects__f3372e0ef5f0dfe7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) from public;
grant execute on function api."projects__f3372e0ef5f0dfe7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."projects__f3372e0ef5f0dfe7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint create_many of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$all" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$body" pg_catalog.jsonb;
  "$id" pg_catalog.uuid;
  "$v0" pg_catalog.text;
  "$row" pg_catalog.record;
  "$count" pg_catalog.int4 := 0;
  "$rows" pg_catalog.text[] := '{}';
  "$text" pg_catalog.text;
  "$state" pg_catalog.text;
  "$message" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'projects', $6);
  end if;
  if pg_catalog.jsonb_typeof("$all") operator(pg_catalog.=) 'object' then
    declare
      "$order" pg_catalog.int4[] := array(select "$one"."$n"::pg_catalog.int4 from pg_catalog.unnest($3) with ordinality as "$one" ("$id", "$n")
        order by "$one"."$id");
      "$nth" pg_catalog.int4;
      "$match" pg_catalog.text;
      "$missing" pg_catalog.int4[] := '{}';
      "$unmatched" pg_catalog.int4[] := '{}';
      "$written" pg_catalog.uuid[] := '{}';
      "$changed" pg_catalog.bool;
      "$size" pg_catalog.int8 := 0;
    begin
  "$all" := "$all" operator(pg_catalog.->) 'updates';
  "$rows" := pg_catalog.array_fill(null::pg_catalog.text, array[pg_catalog.cardinality($3)]);
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, null, (select pg_catalog.concat('{"rows":[', pg_catalog.string_agg(pg_catalog.concat('{"id":"', "$one"."$id", '"}'), ',' order by "$one"."$n"), ']}')
    from pg_catalog.unnest($3) with ordinality as "$one" ("$id", "$n")));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  foreach "$nth" in array "$order" loop
    select "$t"."id", "$t"."app_id", "$t"."name" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"] for no key update;
    "$match" := "$all" operator(pg_catalog.->) ("$nth" operator(pg_catalog.-) 1) operator(pg_catalog.->>) 'ifMatch';
    if not found then
      "$missing" := pg_catalog.array_append("$missing", "$nth" operator(pg_catalog.-) 1);
    elsif "$match" is not null and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array("$match", ',')) then
      "$unmatched" := pg_catalog.array_append("$unmatched", "$nth" operator(pg_catalog.-) 1);
    end if;
  end loop;
  if pg_catalog.cardinality("$missing") operator(pg_catalog.+) pg_catalog.cardinality("$unmatched") operator(pg_catalog.>) 0 then
    if $6 is not null then
      perform rowhouse.forget_key($1, $6);
    end if;
    return pg_catalog.concat('N', pg_catalog.json_build_object('missing', "$missing", 'unmatched', "$unmatched"));
  end if;
  begin
    foreach "$nth" in array array(select pg_catalog.generate_series(1, pg_catalog.cardinality($3))) loop
      "$body" := ("$all" operator(pg_catalog.->) ("$nth" operator(pg_catalog.-) 1)) operator(pg_catalog.-) 'ifMatch';
      "$v0" := ("$body" operator(pg_catalog.->>) 'name')::pg_catalog.text;
      "$changed" := false;
      if "$body" operator(pg_catalog.<>) '{}' then
        select pg_catalog.record_image_ne(row("$t"."name"), row(case when "$body" operator(pg_catalog.?) 'name' then "$v0" else "$t"."name" end)) into "$changed" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"];
      end if;
      if "$changed" then
        update data."projects" as "$t" set
          "name" = case when "$body" operator(pg_catalog.?) 'name' then "$v0" else "$t"."name" end
        where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"]
        returning "$t"."id", "$t"."app_id", "$t"."name" into "$row";
        "$written" := pg_catalog.array_append("$written", ($3)["$nth"]);
      else
        select "$t"."id", "$t"."app_id", "$t"."name" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"];
      end if;
      "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
      "$size" := "$size" operator(pg_catalog.+) pg_catalog.octet_length("$text");
      if "$size" operator(pg_catalog.>) $5 then
        return rowhouse.reject_row(($3)["$nth"]);
      end if;
      "$rows"["$nth"] := "$text";
    end loop;
  exception when integrity_constraint_violation then
    get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = ("$nth" operator(pg_catalog.-) 1)::pg_catalog.text;
  end;
  "$text" := pg_catalog.concat('{"rows":[', pg_catalog.array_to_string("$rows", ','), ']}');
  if $6 is not null then
    perform rowhouse.complete_key($1, $6, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row(($3)[1]);
  end if;
  return "$text";
    end;
  end if;
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, null, (select pg_catalog.concat('{"rows":[', pg_catalog.string_agg(pg_catalog.concat('{"id":"', "$one"."$id", '"}'), ',' order by "$one"."$id"), ']}') from pg_catalog.unnest($3) as "$one" ("$id")));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  begin
    while "$count" operator(pg_catalog.<) pg_catalog.cardinality($3) loop
      "$body" := "$all" operator(pg_catalog.->) "$count";
      "$count" := "$count" operator(pg_catalog.+) 1;
      "$id" := ($3)["$count"];
      "$v0" := ("$body" operator(pg_catalog.->>) 'name')::pg_catalog.text;
      insert into data."projects" as "$t" ("app_id", "id", "name")
      values ($1, "$id", "$v0")
      returning "$t"."id", "$t"."app_id", "$t"."name" into "$row";
      "$rows" := pg_catalog.array_append("$rows", pg_catalog.row_to_json("$row")::pg_catalog.text);
    end loop;
  exception when integrity_constraint_violation then
    get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = ("$count" operator(pg_catalog.-) 1)::pg_catalog.text;
  end;
  "$text" := pg_catalog.concat('{"rows":[', pg_catalog.array_to_string("$rows", ','), ']}');
  if $6 is not null then
    perform rowhouse.complete_key($1, $6, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row(($3)[1]);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."projects__f3372e0ef5f0dfe7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."projects__f3372e0ef5f0dfe7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) from public;
grant execute on function api."projects__f3372e0ef5f0dfe7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."projects__f3372e0ef5f0dfe7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint update of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$body" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$v0" pg_catalog.text := ("$body" operator(pg_catalog.->>) 'name')::pg_catalog.text;
  "$row" pg_catalog.record;
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'projects', $7);
  end if;
  if $7 is not null then
    "$text" := rowhouse.claim_key($1, $2, $7, null, pg_catalog.concat('{"id":"', $3, '"}'));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  if $6 is not null then
    select "$t"."id", "$t"."app_id", "$t"."name" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3 for update;
    if found and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array($6, ',')) then
      if $7 is not null then
        perform rowhouse.forget_key($1, $7);
      end if;
      return '412';
    end if;
  end if;
  if "$body" operator(pg_catalog.=) '{}' then
      select "$t"."id", "$t"."app_id", "$t"."name" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3;
    else
      update data."projects" as "$t" set
        "name" = case when "$body" operator(pg_catalog.?) 'name' then "$v0" else "$t"."name" end
      where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3
      returning "$t"."id", "$t"."app_id", "$t"."name" into "$row";
    end if;
  if not found then
    if $7 is not null then
      perform rowhouse.forget_key($1, $7);
    end if;
    return case when $6 is not null and exists (
    select from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) then '412' end;
  end if;
  "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
  if $7 is not null then
    perform rowhouse.complete_key($1, $7, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."projects__f3372e0ef5f0dfe7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."projects__f3372e0ef5f0dfe7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) from public;
grant execute on function api."projects__f3372e0ef5f0dfe7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."projects__f3372e0ef5f0dfe7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint delete of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$row" pg_catalog.record;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'projects', null);
  end if;
  if $4 is not null then
    select "$t"."id", "$t"."app_id", "$t"."name" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3 for update;
    if found and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array($4, ',')) then
      return '412';
    end if;
  end if;
  delete from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3;
  if found then
    return '';
  end if;
  return case when $4 is not null and exists (
    select from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) then '412' end;
end
$rowhouse$;
alter function api."projects__f3372e0ef5f0dfe7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) owner to rowhouse_tenant;
revoke all on function api."projects__f3372e0ef5f0dfe7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) from public;
grant execute on function api."projects__f3372e0ef5f0dfe7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) to rowhouse_service, rowhouse_data;
set local citus.enable_ddl_propagation = 'on';
do $rowhouse$
begin perform create_distributed_function('api."projects__f3372e0ef5f0dfe7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__f3372e0ef5f0dfe7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__f3372e0ef5f0dfe7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__f3372e0ef5f0dfe7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__f3372e0ef5f0dfe7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__f3372e0ef5f0dfe7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text)', '$1', 'rowhouse.shards'); end
$rowhouse$;
set local citus.enable_ddl_propagation = 'off';
create or replace function api."todos__05fb2b4ee731f651_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) returns pg_catalog.text language plpgsql stable security definer as $rowhouse$
-- The endpoint list of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$states" pg_catalog.bytea;
  "$first" pg_catalog.uuid;
  "$tag" pg_catalog.text;
  "$head" pg_catalog.text;
  "$found" pg_catalog.int8;
  "$size" pg_catalog.int8;
  "$text" pg_catalog.text;
  "$one" pg_catalog.record;
  "$rows" pg_catalog.text[] := '{}';
  "$count" pg_catalog.int8 := 0;
  "$bytes" pg_catalog.int8 := 0;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true),
    pg_catalog.set_config('jit', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 1::pg_catalog.int2) operator(pg_catalog.=) 1::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_call($1, $2, 'todos');
  end if;
  select pg_catalog.string_agg("$row"."$state", ''::pg_catalog.bytea),
    pg_catalog.count(*), coalesce(pg_catalog.sum("$row"."$size"), 0)
  into "$states", "$found", "$size" from (
    select pg_catalog.uuid_send("$t"."id") operator(pg_catalog.||) pg_catalog.xidsend("$t"."xmin") operator(pg_catalog.||) pg_catalog.tidsend("$t"."ctid") as "$state", (coalesce(pg_catalog.octet_length("$t"."title"), 0)::pg_catalog.int8 operator(pg_catalog.+) coalesce(pg_catalog.pg_column_size("$t"."checklist"), 0)::pg_catalog.int8 operator(pg_catalog.+) 219::pg_catalog.int8) as "$size"
    from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 order by "$t"."id" limit $3 operator(pg_catalog.+) 1 offset $4) as "$row";
  "$first" := pg_catalog.encode(pg_catalog.substring("$states", 1, 16), 'hex')::pg_catalog.uuid;
  "$tag" := pg_catalog.left(pg_catalog.encode(pg_catalog.sha256((select "$seed"."value" from rowhouse."tag_seed" as "$seed" where "$seed"."is_only") operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.pg_postmaster_start_time()) operator(pg_catalog.||) '05fb2b4ee731f651'::pg_catalog.bytea operator(pg_catalog.||) pg_catalog.int4send($3) operator(pg_catalog.||) pg_catalog.int4send($4) operator(pg_catalog.||) pg_catalog.int4send($5) operator(pg_catalog.||) coalesce("$states", ''::pg_catalog.bytea)), 'hex'), 32);
  "$head" := pg_catalog.concat("$tag", $1, ' 05fb2b4ee731f651 ', $3, ' ', $4, ' ');
  if "$size" operator(pg_catalog.>) $7 or "$tag" operator(pg_catalog.=) any (pg_catalog.string_to_array($6, ',')) then
    return "$head";
  end if;
  if "$size" operator(pg_catalog.<=) 786432 then
    select pg_catalog.concat("$head", '{"rows":[', pg_catalog.string_agg(pg_catalog.row_to_json("$row")::pg_catalog.text, ','), '],"limit":', $3, ',"offset":', $4, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) $3 then 'true' else 'false' end, '}')
    into "$text" from (select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1
      and "$t"."id" operator(pg_catalog.>=) "$first" order by "$t"."id" limit $3) as "$row";
    if pg_catalog.octet_length("$text") operator(pg_catalog.<=) $5 then
      return "$text";
    end if;
  end if;
  for "$one" in select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1
      and "$t"."id" operator(pg_catalog.>=) "$first" order by "$t"."id" limit $3 loop
    exit when "$bytes" operator(pg_catalog.>) $5;
    "$text" := case when (coalesce(pg_catalog.octet_length("$one"."title"), 0)::pg_catalog.int8 operator(pg_catalog.+) coalesce(pg_catalog.pg_column_size("$one"."checklist"), 0)::pg_catalog.int8) operator(pg_catalog.<=) $5 then pg_catalog.row_to_json("$one")::pg_catalog.text end;
    if "$text" is null or pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
      if "$count" operator(pg_catalog.=) 0 then
        return rowhouse.reject_row("$one"."id");
      end if;
      exit;
    end if;
    "$rows" := pg_catalog.array_append("$rows", "$text");
    "$count" := "$count" operator(pg_catalog.+) 1;
    "$bytes" := "$bytes" operator(pg_catalog.+) pg_catalog.octet_length("$text");
  end loop;
  return pg_catalog.concat("$head", '{"rows":[', pg_catalog.array_to_string("$rows", ','), '],"limit":', $3, ',"offset":', $4, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) "$count" then 'true' else 'false' end, '}');
end
$rowhouse$;
alter function api."todos__05fb2b4ee731f651_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) owner to rowhouse_tenant;
revoke all on function api."todos__05fb2b4ee731f651_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) from public;
grant execute on function api."todos__05fb2b4ee731f651_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) to rowhouse_service, rowhouse_data;
create or replace function api."todos__05fb2b4ee731f651_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint get of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  "$text" := case when exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 1::pg_catalog.int2) operator(pg_catalog.=) 1::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then (
    select pg_catalog.row_to_json("$row")::pg_catalog.text
    from (select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) as "$row"
  ) else rowhouse.reject_call($1, $2, 'todos') end;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $4 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."todos__05fb2b4ee731f651_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) owner to rowhouse_tenant;
revoke all on function api."todos__05fb2b4ee731f651_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) from public;
grant execute on function api."todos__05fb2b4ee731f651_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) to rowhouse_service, rowhouse_data;
create or replace function api."todos__05fb2b4ee731f651_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint create of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$body" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$v0" pg_catalog.text := ("$body" operator(pg_catalog.->>) 'title')::pg_catalog.text;
  "$v1" data."todos__status__enum" := case when "$body" operator(pg_catalog.?) 'status' then ("$body" operator(pg_catalog.->>) 'status')::data."todos__status__enum" else 'open'::data."todos__status__enum" end;
  "$v2" pg_catalog.uuid := ("$body" operator(pg_catalog.->>) 'project')::pg_catalog.uuid;
  "$v3" pg_catalog.numeric := ("$body" operator(pg_catalog.->>) 'estimate_hours')::pg_catalog.numeric;
  "$v4" pg_catalog.jsonb := case when ("$body" operator(pg_catalog.->>) 'checklist') is not null then "$body" operator(pg_catalog.->) 'checklist' end;
  "$row" pg_catalog.record;
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'todos', $6);
  end if;
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, (select pg_catalog.row_to_json("$new")::pg_catalog.text from (select $3 as "id", $1 as "app_id", "$v0" as "title", "$v1" as "status", "$v2" as "project", "$v3"::pg_catalog.text as "estimate_hours", "$v4" as "checklist") as "$new"), pg_catalog.concat('{"id":"', $3, '"}'));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  insert into data."todos" as "$t" ("app_id", "id", "title", "status", "project", "estimate_hours", "checklist")
  values ($1, $3, "$v0", "$v1", "$v2", "$v3", "$v4")
  returning "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" into "$row";
  "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."todos__05fb2b4ee731f651_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."todos__05fb2b4ee731f651_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) from public;
grant execute on function api."todos__05fb2b4ee731f651_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."todos__05fb2b4ee731f651_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint create_many of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$all" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$body" pg_catalog.jsonb;
  "$id" pg_catalog.uuid;
  "$v0" pg_catalog.text;
  "$v1" data."todos__status__enum";
  "$v2" pg_catalog.uuid;
  "$v3" pg_catalog.numeric;
  "$v4" pg_catalog.jsonb;
  "$row" pg_catalog.record;
  "$count" pg_catalog.int4 := 0;
  "$rows" pg_catalog.text[] := '{}';
  "$text" pg_catalog.text;
  "$state" pg_catalog.text;
  "$message" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'todos', $6);
  end if;
  if pg_catalog.jsonb_typeof("$all") operator(pg_catalog.=) 'object' then
    declare
      "$order" pg_catalog.int4[] := array(select "$one"."$n"::pg_catalog.int4 from pg_catalog.unnest($3) with ordinality as "$one" ("$id", "$n")
        order by "$one"."$id");
      "$nth" pg_catalog.int4;
      "$match" pg_catalog.text;
      "$missing" pg_catalog.int4[] := '{}';
      "$unmatched" pg_catalog.int4[] := '{}';
      "$written" pg_catalog.uuid[] := '{}';
      "$changed" pg_catalog.bool;
      "$size" pg_catalog.int8 := 0;
    begin
  "$all" := "$all" operator(pg_catalog.->) 'updates';
  "$rows" := pg_catalog.array_fill(null::pg_catalog.text, array[pg_catalog.cardinality($3)]);
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, null, (select pg_catalog.concat('{"rows":[', pg_catalog.string_agg(pg_catalog.concat('{"id":"', "$one"."$id", '"}'), ',' order by "$one"."$n"), ']}')
    from pg_catalog.unnest($3) with ordinality as "$one" ("$id", "$n")));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  foreach "$nth" in array "$order" loop
    select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"] for no key update;
    "$match" := "$all" operator(pg_catalog.->) ("$nth" operator(pg_catalog.-) 1) operator(pg_catalog.->>) 'ifMatch';
    if not found then
      "$missing" := pg_catalog.array_append("$missing", "$nth" operator(pg_catalog.-) 1);
    elsif "$match" is not null and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array("$match", ',')) then
      "$unmatched" := pg_catalog.array_append("$unmatched", "$nth" operator(pg_catalog.-) 1);
    end if;
  end loop;
  if pg_catalog.cardinality("$missing") operator(pg_catalog.+) pg_catalog.cardinality("$unmatched") operator(pg_catalog.>) 0 then
    if $6 is not null then
      perform rowhouse.forget_key($1, $6);
    end if;
    return pg_catalog.concat('N', pg_catalog.json_build_object('missing', "$missing", 'unmatched', "$unmatched"));
  end if;
  begin
    foreach "$nth" in array array(select pg_catalog.generate_series(1, pg_catalog.cardinality($3))) loop
      "$body" := ("$all" operator(pg_catalog.->) ("$nth" operator(pg_catalog.-) 1)) operator(pg_catalog.-) 'ifMatch';
      "$v0" := ("$body" operator(pg_catalog.->>) 'title')::pg_catalog.text;
      "$v1" := ("$body" operator(pg_catalog.->>) 'status')::data."todos__status__enum";
      "$v2" := ("$body" operator(pg_catalog.->>) 'project')::pg_catalog.uuid;
      "$v3" := ("$body" operator(pg_catalog.->>) 'estimate_hours')::pg_catalog.numeric;
      "$v4" := case when ("$body" operator(pg_catalog.->>) 'checklist') is not null then "$body" operator(pg_catalog.->) 'checklist' end;
      "$changed" := false;
      if "$body" operator(pg_catalog.<>) '{}' then
        select pg_catalog.record_image_ne(row("$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours", "$t"."checklist"), row(case when "$body" operator(pg_catalog.?) 'title' then "$v0" else "$t"."title" end, case when "$body" operator(pg_catalog.?) 'status' then "$v1" else "$t"."status" end, case when "$body" operator(pg_catalog.?) 'project' then "$v2" else "$t"."project" end, case when "$body" operator(pg_catalog.?) 'estimate_hours' then "$v3" else "$t"."estimate_hours" end, case when "$body" operator(pg_catalog.?) 'checklist' then "$v4" else "$t"."checklist" end)) into "$changed" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"];
      end if;
      if "$changed" then
        update data."todos" as "$t" set
          "title" = case when "$body" operator(pg_catalog.?) 'title' then "$v0" else "$t"."title" end,
          "status" = case when "$body" operator(pg_catalog.?) 'status' then "$v1" else "$t"."status" end,
          "project" = case when "$body" operator(pg_catalog.?) 'project' then "$v2" else "$t"."project" end,
          "estimate_hours" = case when "$body" operator(pg_catalog.?) 'estimate_hours' then "$v3" else "$t"."estimate_hours" end,
          "checklist" = case when "$body" operator(pg_catalog.?) 'checklist' then "$v4" else "$t"."checklist" end
        where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"]
        returning "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" into "$row";
        "$written" := pg_catalog.array_append("$written", ($3)["$nth"]);
      else
        select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"];
      end if;
      "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
      "$size" := "$size" operator(pg_catalog.+) pg_catalog.octet_length("$text");
      if "$size" operator(pg_catalog.>) $5 then
        return rowhouse.reject_row(($3)["$nth"]);
      end if;
      "$rows"["$nth"] := "$text";
    end loop;
  exception when integrity_constraint_violation then
    get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = ("$nth" operator(pg_catalog.-) 1)::pg_catalog.text;
  end;
  "$text" := pg_catalog.concat('{"rows":[', pg_catalog.array_to_string("$rows", ','), ']}');
  if $6 is not null then
    perform rowhouse.complete_key($1, $6, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row(($3)[1]);
  end if;
  return "$text";
    end;
  end if;
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, null, (select pg_catalog.concat('{"rows":[', pg_catalog.string_agg(pg_catalog.concat('{"id":"', "$one"."$id", '"}'), ',' order by "$one"."$id"), ']}') from pg_catalog.unnest($3) as "$one" ("$id")));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  begin
    while "$count" operator(pg_catalog.<) pg_catalog.cardinality($3) loop
      "$body" := "$all" operator(pg_catalog.->) "$count";
      "$count" := "$count" operator(pg_catalog.+) 1;
      "$id" := ($3)["$count"];
      "$v0" := ("$body" operator(pg_catalog.->>) 'title')::pg_catalog.text;
      "$v1" := case when "$body" operator(pg_catalog.?) 'status' then ("$body" operator(pg_catalog.->>) 'status')::data."todos__status__enum" else 'open'::data."todos__status__enum" end;
      "$v2" := ("$body" operator(pg_catalog.->>) 'project')::pg_catalog.uuid;
      "$v3" := ("$body" operator(pg_catalog.->>) 'estimate_hours')::pg_catalog.numeric;
      "$v4" := case when ("$body" operator(pg_catalog.->>) 'checklist') is not null then "$body" operator(pg_catalog.->) 'checklist' end;
      insert into data."todos" as "$t" ("app_id", "id", "title", "status", "project", "estimate_hours", "checklist")
      values ($1, "$id", "$v0", "$v1", "$v2", "$v3", "$v4")
      returning "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" into "$row";
      "$rows" := pg_catalog.array_append("$rows", pg_catalog.row_to_json("$row")::pg_catalog.text);
    end loop;
  exception when integrity_constraint_violation then
    get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = ("$count" operator(pg_catalog.-) 1)::pg_catalog.text;
  end;
  "$text" := pg_catalog.concat('{"rows":[', pg_catalog.array_to_string("$rows", ','), ']}');
  if $6 is not null then
    perform rowhouse.complete_key($1, $6, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row(($3)[1]);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."todos__05fb2b4ee731f651_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."todos__05fb2b4ee731f651_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) from public;
grant execute on function api."todos__05fb2b4ee731f651_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."todos__05fb2b4ee731f651_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint update of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$body" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$v0" pg_catalog.text := ("$body" operator(pg_catalog.->>) 'title')::pg_catalog.text;
  "$v1" data."todos__status__enum" := ("$body" operator(pg_catalog.->>) 'status')::data."todos__status__enum";
  "$v2" pg_catalog.uuid := ("$body" operator(pg_catalog.->>) 'project')::pg_catalog.uuid;
  "$v3" pg_catalog.numeric := ("$body" operator(pg_catalog.->>) 'estimate_hours')::pg_catalog.numeric;
  "$v4" pg_catalog.jsonb := case when ("$body" operator(pg_catalog.->>) 'checklist') is not null then "$body" operator(pg_catalog.->) 'checklist' end;
  "$row" pg_catalog.record;
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'todos', $7);
  end if;
  if $7 is not null then
    "$text" := rowhouse.claim_key($1, $2, $7, null, pg_catalog.concat('{"id":"', $3, '"}'));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  if $6 is not null then
    select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3 for update;
    if found and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array($6, ',')) then
      if $7 is not null then
        perform rowhouse.forget_key($1, $7);
      end if;
      return '412';
    end if;
  end if;
  if "$body" operator(pg_catalog.=) '{}' then
      select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3;
    else
      update data."todos" as "$t" set
        "title" = case when "$body" operator(pg_catalog.?) 'title' then "$v0" else "$t"."title" end,
        "status" = case when "$body" operator(pg_catalog.?) 'status' then "$v1" else "$t"."status" end,
        "project" = case when "$body" operator(pg_catalog.?) 'project' then "$v2" else "$t"."project" end,
        "estimate_hours" = case when "$body" operator(pg_catalog.?) 'estimate_hours' then "$v3" else "$t"."estimate_hours" end,
        "checklist" = case when "$body" operator(pg_catalog.?) 'checklist' then "$v4" else "$t"."checklist" end
      where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3
      returning "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" into "$row";
    end if;
  if not found then
    if $7 is not null then
      perform rowhouse.forget_key($1, $7);
    end if;
    return case when $6 is not null and exists (
    select from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) then '412' end;
  end if;
  "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
  if $7 is not null then
    perform rowhouse.complete_key($1, $7, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."todos__05fb2b4ee731f651_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."todos__05fb2b4ee731f651_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) from public;
grant execute on function api."todos__05fb2b4ee731f651_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."todos__05fb2b4ee731f651_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint delete of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$row" pg_catalog.record;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'todos', null);
  end if;
  if $4 is not null then
    select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3 for update;
    if found and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array($4, ',')) then
      return '412';
    end if;
  end if;
  delete from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3;
  if found then
    return '';
  end if;
  return case when $4 is not null and exists (
    select from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) then '412' end;
end
$rowhouse$;
alter function api."todos__05fb2b4ee731f651_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) owner to rowhouse_tenant;
revoke all on function api."todos__05fb2b4ee731f651_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) from public;
grant execute on function api."todos__05fb2b4ee731f651_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) to rowhouse_service, rowhouse_data;
set local citus.enable_ddl_propagation = 'on';
do $rowhouse$
begin perform create_distributed_function('api."todos__05fb2b4ee731f651_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__05fb2b4ee731f651_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__05fb2b4ee731f651_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__05fb2b4ee731f651_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__05fb2b4ee731f651_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__05fb2b4ee731f651_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text)', '$1', 'rowhouse.shards'); end
$rowhouse$;
select rowhouse.record_push('00000000-0000-4000-8000-00000000000a', E'{"checksum":"sha256:ded4fc77d764ca31ecf2e7119e75337e9cf0415c691aedea4bbdf48f7a63a06b","isReplay":false,"keyId":null,"name":"create_table_projects","parent":"","seq":1,"sql":"create table data.\\"projects\\" (\\n  \\"app_id\\" pg_catalog.uuid not null,\\n  \\"id\\" pg_catalog.uuid not null,\\n  \\"name\\" pg_catalog.text not null,\\n  constraint \\"projects__pkey\\" primary key (\\"app_id\\", \\"id\\")\\n);\\nalter table data.\\"projects\\" enable row level security;\\nalter table data.\\"projects\\" force row level security;\\ncreate policy tenant on data.\\"projects\\" for all to public\\n  using (app_id = nullif(pg_catalog.current_setting(''rowhouse.app_id'', true), '''')::pg_catalog.uuid)\\n  with check (app_id = nullif(pg_catalog.current_setting(''rowhouse.app_id'', true), '''')::pg_catalog.uuid);\\ngrant select, insert, update, delete on data.\\"projects\\" to rowhouse_tenant;\\ncreate type data.\\"todos__status__enum\\" as enum (''open'', ''done'');\\ncreate table data.\\"todos\\" (\\n  \\"app_id\\" pg_catalog.uuid not null,\\n  \\"id\\" pg_catalog.uuid not null,\\n  \\"title\\" pg_catalog.text not null,\\n  \\"status\\" data.\\"todos__status__enum\\" not null default ''open''::data.\\"todos__status__enum\\",\\n  \\"project\\" pg_catalog.uuid,\\n  \\"estimate_hours\\" pg_catalog.numeric,\\n  \\"checklist\\" pg_catalog.jsonb,\\n  constraint \\"todos__pkey\\" primary key (\\"app_id\\", \\"id\\")\\n);\\nalter table data.\\"todos\\" enable row level security;\\nalter table data.\\"todos\\" force row level security;\\ncreate policy tenant on data.\\"todos\\" for all to public\\n  using (app_id = nullif(pg_catalog.current_setting(''rowhouse.app_id'', true), '''')::pg_catalog.uuid)\\n  with check (app_id = nullif(pg_catalog.current_setting(''rowhouse.app_id'', true), '''')::pg_catalog.uuid);\\ngrant select, insert, update, delete on data.\\"todos\\" to rowhouse_tenant;\\ncreate unique index \\"projects__name__key\\" on data.\\"projects\\" (\\"app_id\\", pg_catalog.sha256(pg_catalog.decode(pg_catalog.replace(\\"name\\", E''\\\\\\\\'', E''\\\\\\\\\\\\\\\\''), ''escape''))) where \\"name\\" is not null;\\ncreate index \\"todos__status__idx\\" on data.\\"todos\\" (\\"app_id\\", \\"status\\") where \\"status\\" is not null;\\ncreate index \\"todos__project__idx\\" on data.\\"todos\\" (\\"app_id\\", \\"project\\") where \\"project\\" is not null;\\nalter table data.\\"todos\\" add constraint \\"todos__project__fkey\\" foreign key (\\"app_id\\", \\"project\\") references data.\\"projects\\" (\\"app_id\\", \\"id\\") on delete cascade;\\n","text":"-- rowhouse migration 0001_create_table_projects\\n--   create table projects\\n--   create table todos\\n--   add unique (name) to projects\\n--   add index (status) to todos\\n--   add index (project) to todos\\n--   add reference todos.project to projects\\n-- written by rowhouse db push; do not edit: services refuse it\\n-- definition {\\"tables\\":[{\\"columns\\":[{\\"index\\":false,\\"kind\\":\\"string\\",\\"name\\":\\"name\\",\\"required\\":true,\\"unique\\":true}],\\"indexes\\":[],\\"name\\":\\"projects\\",\\"uniques\\":[]},{\\"columns\\":[{\\"index\\":false,\\"kind\\":\\"string\\",\\"name\\":\\"title\\",\\"required\\":true,\\"unique\\":false},{\\"default\\":\\"open\\",\\"index\\":true,\\"kind\\":\\"enum\\",\\"name\\":\\"status\\",\\"required\\":true,\\"unique\\":false,\\"values\\":[\\"open\\",\\"done\\"]},{\\"index\\":false,\\"kind\\":\\"ref\\",\\"name\\":\\"project\\",\\"onDelete\\":\\"cascade\\",\\"required\\":false,\\"table\\":\\"projects\\",\\"unique\\":false},{\\"index\\":false,\\"kind\\":\\"decimal\\",\\"name\\":\\"estimate_hours\\",\\"required\\":false,\\"unique\\":false},{\\"index\\":false,\\"kind\\":\\"json\\",\\"name\\":\\"checklist\\",\\"required\\":false,\\"unique\\":false}],\\"indexes\\":[],\\"name\\":\\"todos\\",\\"uniques\\":[]}],\\"version\\":1}\\ncreate table data.\\"projects\\" (\\n  \\"app_id\\" pg_catalog.uuid not null,\\n  \\"id\\" pg_catalog.uuid not null,\\n  \\"name\\" pg_catalog.text not null,\\n  constraint \\"projects__pkey\\" primary key (\\"app_id\\", \\"id\\")\\n);\\nalter table data.\\"projects\\" enable row level security;\\nalter table data.\\"projects\\" force row level security;\\ncreate policy tenant on data.\\"projects\\" for all to public\\n  using (app_id = nullif(pg_catalog.current_setting(''rowhouse.app_id'', true), '''')::pg_catalog.uuid)\\n  with check (app_id = nullif(pg_catalog.current_setting(''rowhouse.app_id'', true), '''')::pg_catalog.uuid);\\ngrant select, insert, update, delete on data.\\"projects\\" to rowhouse_tenant;\\ncreate type data.\\"todos__status__enum\\" as enum (''open'', ''done'');\\ncreate table data.\\"todos\\" (\\n  \\"app_id\\" pg_catalog.uuid not null,\\n  \\"id\\" pg_catalog.uuid not null,\\n  \\"title\\" pg_catalog.text not null,\\n  \\"status\\" data.\\"todos__status__enum\\" not null default ''open''::data.\\"todos__status__enum\\",\\n  \\"project\\" pg_catalog.uuid,\\n  \\"estimate_hours\\" pg_catalog.numeric,\\n  \\"checklist\\" pg_catalog.jsonb,\\n  constraint \\"todos__pkey\\" primary key (\\"app_id\\", \\"id\\")\\n);\\nalter table data.\\"todos\\" enable row level security;\\nalter table data.\\"todos\\" force row level security;\\ncreate policy tenant on data.\\"todos\\" for all to public\\n  using (app_id = nullif(pg_catalog.current_setting(''rowhouse.app_id'', true), '''')::pg_catalog.uuid)\\n  with check (app_id = nullif(pg_catalog.current_setting(''rowhouse.app_id'', true), '''')::pg_catalog.uuid);\\ngrant select, insert, update, delete on data.\\"todos\\" to rowhouse_tenant;\\ncreate unique index \\"projects__name__key\\" on data.\\"projects\\" (\\"app_id\\", pg_catalog.sha256(pg_catalog.decode(pg_catalog.replace(\\"name\\", E''\\\\\\\\'', E''\\\\\\\\\\\\\\\\''), ''escape''))) where \\"name\\" is not null;\\ncreate index \\"todos__status__idx\\" on data.\\"todos\\" (\\"app_id\\", \\"status\\") where \\"status\\" is not null;\\ncreate index \\"todos__project__idx\\" on data.\\"todos\\" (\\"app_id\\", \\"project\\") where \\"project\\" is not null;\\nalter table data.\\"todos\\" add constraint \\"todos__project__fkey\\" foreign key (\\"app_id\\", \\"project\\") references data.\\"projects\\" (\\"app_id\\", \\"id\\") on delete cascade;\\n-- checksum sha256:ded4fc77d764ca31ecf2e7119e75337e9cf0415c691aedea4bbdf48f7a63a06b\\n","widened":[]}'::jsonb, '[{"columns":[{"index":false,"kind":"string","name":"name","required":true,"unique":true}],"indexes":[],"name":"projects","uniques":[]},{"columns":[{"index":false,"kind":"string","name":"title","required":true,"unique":false},{"default":"open","index":true,"kind":"enum","name":"status","required":true,"unique":false,"values":["open","done"]},{"index":false,"kind":"ref","name":"project","onDelete":"cascade","required":false,"table":"projects","unique":false},{"index":false,"kind":"decimal","name":"estimate_hours","required":false,"unique":false},{"index":false,"kind":"json","name":"checklist","required":false,"unique":false}],"indexes":[],"name":"todos","uniques":[]}]'::jsonb, '[{"columns":{"columns":[{"kind":"string","name":"name"}],"name":"projects"},"definition":{"columns":[{"index":false,"kind":"string","name":"name","required":true,"unique":true}],"indexes":[],"name":"projects","uniques":[]},"hash":"f3372e0ef5f0dfe7"},{"columns":{"columns":[{"kind":"string","name":"title"},{"default":"open","kind":"enum","name":"status"},{"kind":"ref","name":"project"},{"kind":"decimal","name":"estimate_hours"},{"kind":"json","name":"checklist"}],"name":"todos"},"definition":{"columns":[{"index":false,"kind":"string","name":"title","required":true,"unique":false},{"default":"open","index":true,"kind":"enum","name":"status","required":true,"unique":false,"values":["open","done"]},{"index":false,"kind":"ref","name":"project","onDelete":"cascade","required":false,"table":"projects","unique":false},{"index":false,"kind":"decimal","name":"estimate_hours","required":false,"unique":false},{"index":false,"kind":"json","name":"checklist","required":false,"unique":false}],"indexes":[],"name":"todos","uniques":[]},"hash":"05fb2b4ee731f651"}]'::jsonb, '[]'::jsonb) as version

-- a change

do $rowhouse$ begin perform rowhouse.hold_release('0d8d2c2695ad180cc05fa4d794b74048'); perform rowhouse.lock_push(array['app 00000000-0000-4000-8000-00000000000a', 'table projects', 'table todos'], '{"projects":0,"todos":0}', '00000000-0000-4000-8000-00000000000a', 1); if (select to_json(features) from rowhouse.release)::pg_catalog.jsonb <> '[]'::pg_catalog.jsonb then raise exception 'the previews have changed' using errcode = 'RH002'; end if; end $rowhouse$;
set local statement_timeout = '120000ms';
set local lock_timeout = '700ms';
set local citus.multi_shard_modify_mode = 'sequential';
set local role rowhouse_tables;
do $rowhouse$ begin perform rowhouse.lock_tables(array['projects', 'todos']::text[], array[]::text[], 700); end $rowhouse$;
do $rowhouse$
begin alter type data."todos__status__enum" add value 'doing' before 'done'; end
$rowhouse$;
do $rowhouse_1$
begin alter table data."projects" add column "owner" pg_catalog.text default '$rowhouse$'::pg_catalog.text; end
$rowhouse_1$;
do $rowhouse$
begin alter table data."todos" add column "blocks" pg_catalog.uuid; end
$rowhouse$;
do $rowhouse$
begin alter table data."todos" add column "changed" pg_catalog.timestamptz default pg_catalog.now(); end
$rowhouse$;
do $rowhouse$
begin create index "todos__blocks__idx" on data."todos" ("app_id", "blocks") where "blocks" is not null; end
$rowhouse$;
do $rowhouse$
begin alter table data."todos" add constraint "todos__blocks__fkey" foreign key ("app_id", "blocks") references data."todos" ("app_id", "id") not valid; end
$rowhouse$;
do $rowhouse$
begin alter table data."todos" no force row level security; end
$rowhouse$;
do $rowhouse$
begin alter table data."todos" validate constraint "todos__blocks__fkey"; end
$rowhouse$;
do $rowhouse$
begin alter table data."todos" force row level security; end
$rowhouse$;
set local citus.enable_ddl_propagation = 'off';
create or replace function api."projects__fff694e7d1374162_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) returns pg_catalog.text language plpgsql stable security definer as $rowhouse$
-- The endpoint list of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$states" pg_catalog.bytea;
  "$first" pg_catalog.uuid;
  "$tag" pg_catalog.text;
  "$head" pg_catalog.text;
  "$found" pg_catalog.int8;
  "$size" pg_catalog.int8;
  "$text" pg_catalog.text;
  "$one" pg_catalog.record;
  "$rows" pg_catalog.text[] := '{}';
  "$count" pg_catalog.int8 := 0;
  "$bytes" pg_catalog.int8 := 0;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true),
    pg_catalog.set_config('jit', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 1::pg_catalog.int2) operator(pg_catalog.=) 1::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_call($1, $2, 'projects');
  end if;
  select pg_catalog.string_agg("$row"."$state", ''::pg_catalog.bytea),
    pg_catalog.count(*), coalesce(pg_catalog.sum("$row"."$size"), 0)
  into "$states", "$found", "$size" from (
    select pg_catalog.uuid_send("$t"."id") operator(pg_catalog.||) pg_catalog.xidsend("$t"."xmin") operator(pg_catalog.||) pg_catalog.tidsend("$t"."ctid") as "$state", (coalesce(pg_catalog.octet_length("$t"."name"), 0)::pg_catalog.int8 operator(pg_catalog.+) coalesce(pg_catalog.octet_length("$t"."owner"), 0)::pg_catalog.int8 operator(pg_catalog.+) 139::pg_catalog.int8) as "$size"
    from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 order by "$t"."id" limit $3 operator(pg_catalog.+) 1 offset $4) as "$row";
  "$first" := pg_catalog.encode(pg_catalog.substring("$states", 1, 16), 'hex')::pg_catalog.uuid;
  "$tag" := pg_catalog.left(pg_catalog.encode(pg_catalog.sha256((select "$seed"."value" from rowhouse."tag_seed" as "$seed" where "$seed"."is_only") operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.pg_postmaster_start_time()) operator(pg_catalog.||) 'fff694e7d1374162'::pg_catalog.bytea operator(pg_catalog.||) pg_catalog.int4send($3) operator(pg_catalog.||) pg_catalog.int4send($4) operator(pg_catalog.||) pg_catalog.int4send($5) operator(pg_catalog.||) coalesce("$states", ''::pg_catalog.bytea)), 'hex'), 32);
  "$head" := pg_catalog.concat("$tag", $1, ' fff694e7d1374162 ', $3, ' ', $4, ' ');
  if "$size" operator(pg_catalog.>) $7 or "$tag" operator(pg_catalog.=) any (pg_catalog.string_to_array($6, ',')) then
    return "$head";
  end if;
  if "$size" operator(pg_catalog.<=) 786432 then
    select pg_catalog.concat("$head", '{"rows":[', pg_catalog.string_agg(pg_catalog.row_to_json("$row")::pg_catalog.text, ','), '],"limit":', $3, ',"offset":', $4, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) $3 then 'true' else 'false' end, '}')
    into "$text" from (select "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1
      and "$t"."id" operator(pg_catalog.>=) "$first" order by "$t"."id" limit $3) as "$row";
    if pg_catalog.octet_length("$text") operator(pg_catalog.<=) $5 then
      return "$text";
    end if;
  end if;
  for "$one" in select "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1
      and "$t"."id" operator(pg_catalog.>=) "$first" order by "$t"."id" limit $3 loop
    exit when "$bytes" operator(pg_catalog.>) $5;
    "$text" := case when (coalesce(pg_catalog.octet_length("$one"."name"), 0)::pg_catalog.int8 operator(pg_catalog.+) coalesce(pg_catalog.octet_length("$one"."owner"), 0)::pg_catalog.int8) operator(pg_catalog.<=) $5 then pg_catalog.row_to_json("$one")::pg_catalog.text end;
    if "$text" is null or pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
      if "$count" operator(pg_catalog.=) 0 then
        return rowhouse.reject_row("$one"."id");
      end if;
      exit;
    end if;
    "$rows" := pg_catalog.array_append("$rows", "$text");
    "$count" := "$count" operator(pg_catalog.+) 1;
    "$bytes" := "$bytes" operator(pg_catalog.+) pg_catalog.octet_length("$text");
  end loop;
  return pg_catalog.concat("$head", '{"rows":[', pg_catalog.array_to_string("$rows", ','), '],"limit":', $3, ',"offset":', $4, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) "$count" then 'true' else 'false' end, '}');
end
$rowhouse$;
alter function api."projects__fff694e7d1374162_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) owner to rowhouse_tenant;
revoke all on function api."projects__fff694e7d1374162_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) from public;
grant execute on function api."projects__fff694e7d1374162_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) to rowhouse_service, rowhouse_data;
create or replace function api."projects__fff694e7d1374162_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint get of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  "$text" := case when exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 1::pg_catalog.int2) operator(pg_catalog.=) 1::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then (
    select pg_catalog.row_to_json("$row")::pg_catalog.text
    from (select "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) as "$row"
  ) else rowhouse.reject_call($1, $2, 'projects') end;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $4 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."projects__fff694e7d1374162_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) owner to rowhouse_tenant;
revoke all on function api."projects__fff694e7d1374162_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) from public;
grant execute on function api."projects__fff694e7d1374162_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) to rowhouse_service, rowhouse_data;
create or replace function api."projects__fff694e7d1374162_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse_1$
-- The endpoint create of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$body" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$v0" pg_catalog.text := ("$body" operator(pg_catalog.->>) 'name')::pg_catalog.text;
  "$v1" pg_catalog.text := case when "$body" operator(pg_catalog.?) 'owner' then ("$body" operator(pg_catalog.->>) 'owner')::pg_catalog.text else '$rowhouse$'::pg_catalog.text end;
  "$row" pg_catalog.record;
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'projects', $6);
  end if;
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, (select pg_catalog.row_to_json("$new")::pg_catalog.text from (select $3 as "id", $1 as "app_id", "$v0" as "name", "$v1" as "owner") as "$new"), pg_catalog.concat('{"id":"', $3, '"}'));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  insert into data."projects" as "$t" ("app_id", "id", "name", "owner")
  values ($1, $3, "$v0", "$v1")
  returning "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" into "$row";
  "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse_1$;
alter function api."projects__fff694e7d1374162_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."projects__fff694e7d1374162_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) from public;
grant execute on function api."projects__fff694e7d1374162_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."projects__fff694e7d1374162_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse_1$
-- The endpoint create_many of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$all" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$body" pg_catalog.jsonb;
  "$id" pg_catalog.uuid;
  "$v0" pg_catalog.text;
  "$v1" pg_catalog.text;
  "$row" pg_catalog.record;
  "$count" pg_catalog.int4 := 0;
  "$rows" pg_catalog.text[] := '{}';
  "$text" pg_catalog.text;
  "$state" pg_catalog.text;
  "$message" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'projects', $6);
  end if;
  if pg_catalog.jsonb_typeof("$all") operator(pg_catalog.=) 'object' then
    declare
      "$order" pg_catalog.int4[] := array(select "$one"."$n"::pg_catalog.int4 from pg_catalog.unnest($3) with ordinality as "$one" ("$id", "$n")
        order by "$one"."$id");
      "$nth" pg_catalog.int4;
      "$match" pg_catalog.text;
      "$missing" pg_catalog.int4[] := '{}';
      "$unmatched" pg_catalog.int4[] := '{}';
      "$written" pg_catalog.uuid[] := '{}';
      "$changed" pg_catalog.bool;
      "$size" pg_catalog.int8 := 0;
    begin
  "$all" := "$all" operator(pg_catalog.->) 'updates';
  "$rows" := pg_catalog.array_fill(null::pg_catalog.text, array[pg_catalog.cardinality($3)]);
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, null, (select pg_catalog.concat('{"rows":[', pg_catalog.string_agg(pg_catalog.concat('{"id":"', "$one"."$id", '"}'), ',' order by "$one"."$n"), ']}')
    from pg_catalog.unnest($3) with ordinality as "$one" ("$id", "$n")));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  foreach "$nth" in array "$order" loop
    select "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"] for no key update;
    "$match" := "$all" operator(pg_catalog.->) ("$nth" operator(pg_catalog.-) 1) operator(pg_catalog.->>) 'ifMatch';
    if not found then
      "$missing" := pg_catalog.array_append("$missing", "$nth" operator(pg_catalog.-) 1);
    elsif "$match" is not null and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array("$match", ',')) then
      "$unmatched" := pg_catalog.array_append("$unmatched", "$nth" operator(pg_catalog.-) 1);
    end if;
  end loop;
  if pg_catalog.cardinality("$missing") operator(pg_catalog.+) pg_catalog.cardinality("$unmatched") operator(pg_catalog.>) 0 then
    if $6 is not null then
      perform rowhouse.forget_key($1, $6);
    end if;
    return pg_catalog.concat('N', pg_catalog.json_build_object('missing', "$missing", 'unmatched', "$unmatched"));
  end if;
  begin
    foreach "$nth" in array array(select pg_catalog.generate_series(1, pg_catalog.cardinality($3))) loop
      "$body" := ("$all" operator(pg_catalog.->) ("$nth" operator(pg_catalog.-) 1)) operator(pg_catalog.-) 'ifMatch';
      "$v0" := ("$body" operator(pg_catalog.->>) 'name')::pg_catalog.text;
      "$v1" := ("$body" operator(pg_catalog.->>) 'owner')::pg_catalog.text;
      "$changed" := false;
      if "$body" operator(pg_catalog.<>) '{}' then
        select pg_catalog.record_image_ne(row("$t"."name", "$t"."owner"), row(case when "$body" operator(pg_catalog.?) 'name' then "$v0" else "$t"."name" end, case when "$body" operator(pg_catalog.?) 'owner' then "$v1" else "$t"."owner" end)) into "$changed" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"];
      end if;
      if "$changed" then
        update data."projects" as "$t" set
          "name" = case when "$body" operator(pg_catalog.?) 'name' then "$v0" else "$t"."name" end,
          "owner" = case when "$body" operator(pg_catalog.?) 'owner' then "$v1" else "$t"."owner" end
        where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"]
        returning "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" into "$row";
        "$written" := pg_catalog.array_append("$written", ($3)["$nth"]);
      else
        select "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"];
      end if;
      "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
      "$size" := "$size" operator(pg_catalog.+) pg_catalog.octet_length("$text");
      if "$size" operator(pg_catalog.>) $5 then
        return rowhouse.reject_row(($3)["$nth"]);
      end if;
      "$rows"["$nth"] := "$text";
    end loop;
  exception when integrity_constraint_violation then
    get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = ("$nth" operator(pg_catalog.-) 1)::pg_catalog.text;
  end;
  "$text" := pg_catalog.concat('{"rows":[', pg_catalog.array_to_string("$rows", ','), ']}');
  if $6 is not null then
    perform rowhouse.complete_key($1, $6, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row(($3)[1]);
  end if;
  return "$text";
    end;
  end if;
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, null, (select pg_catalog.concat('{"rows":[', pg_catalog.string_agg(pg_catalog.concat('{"id":"', "$one"."$id", '"}'), ',' order by "$one"."$id"), ']}') from pg_catalog.unnest($3) as "$one" ("$id")));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  begin
    while "$count" operator(pg_catalog.<) pg_catalog.cardinality($3) loop
      "$body" := "$all" operator(pg_catalog.->) "$count";
      "$count" := "$count" operator(pg_catalog.+) 1;
      "$id" := ($3)["$count"];
      "$v0" := ("$body" operator(pg_catalog.->>) 'name')::pg_catalog.text;
      "$v1" := case when "$body" operator(pg_catalog.?) 'owner' then ("$body" operator(pg_catalog.->>) 'owner')::pg_catalog.text else '$rowhouse$'::pg_catalog.text end;
      insert into data."projects" as "$t" ("app_id", "id", "name", "owner")
      values ($1, "$id", "$v0", "$v1")
      returning "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" into "$row";
      "$rows" := pg_catalog.array_append("$rows", pg_catalog.row_to_json("$row")::pg_catalog.text);
    end loop;
  exception when integrity_constraint_violation then
    get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = ("$count" operator(pg_catalog.-) 1)::pg_catalog.text;
  end;
  "$text" := pg_catalog.concat('{"rows":[', pg_catalog.array_to_string("$rows", ','), ']}');
  if $6 is not null then
    perform rowhouse.complete_key($1, $6, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row(($3)[1]);
  end if;
  return "$text";
end
$rowhouse_1$;
alter function api."projects__fff694e7d1374162_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."projects__fff694e7d1374162_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) from public;
grant execute on function api."projects__fff694e7d1374162_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."projects__fff694e7d1374162_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint update of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$body" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$v0" pg_catalog.text := ("$body" operator(pg_catalog.->>) 'name')::pg_catalog.text;
  "$v1" pg_catalog.text := ("$body" operator(pg_catalog.->>) 'owner')::pg_catalog.text;
  "$row" pg_catalog.record;
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'projects', $7);
  end if;
  if $7 is not null then
    "$text" := rowhouse.claim_key($1, $2, $7, null, pg_catalog.concat('{"id":"', $3, '"}'));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  if $6 is not null then
    select "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3 for update;
    if found and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array($6, ',')) then
      if $7 is not null then
        perform rowhouse.forget_key($1, $7);
      end if;
      return '412';
    end if;
  end if;
  if "$body" operator(pg_catalog.=) '{}' then
      select "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3;
    else
      update data."projects" as "$t" set
        "name" = case when "$body" operator(pg_catalog.?) 'name' then "$v0" else "$t"."name" end,
        "owner" = case when "$body" operator(pg_catalog.?) 'owner' then "$v1" else "$t"."owner" end
      where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3
      returning "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" into "$row";
    end if;
  if not found then
    if $7 is not null then
      perform rowhouse.forget_key($1, $7);
    end if;
    return case when $6 is not null and exists (
    select from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) then '412' end;
  end if;
  "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
  if $7 is not null then
    perform rowhouse.complete_key($1, $7, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."projects__fff694e7d1374162_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."projects__fff694e7d1374162_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) from public;
grant execute on function api."projects__fff694e7d1374162_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."projects__fff694e7d1374162_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint delete of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$row" pg_catalog.record;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'projects' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'projects', null);
  end if;
  if $4 is not null then
    select "$t"."id", "$t"."app_id", "$t"."name", "$t"."owner" into "$row" from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3 for update;
    if found and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array($4, ',')) then
      return '412';
    end if;
  end if;
  delete from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3;
  if found then
    return '';
  end if;
  return case when $4 is not null and exists (
    select from data."projects" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) then '412' end;
end
$rowhouse$;
alter function api."projects__fff694e7d1374162_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) owner to rowhouse_tenant;
revoke all on function api."projects__fff694e7d1374162_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) from public;
grant execute on function api."projects__fff694e7d1374162_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) to rowhouse_service, rowhouse_data;
set local citus.enable_ddl_propagation = 'on';
do $rowhouse$
begin perform create_distributed_function('api."projects__fff694e7d1374162_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__fff694e7d1374162_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__fff694e7d1374162_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__fff694e7d1374162_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__fff694e7d1374162_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."projects__fff694e7d1374162_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text)', '$1', 'rowhouse.shards'); end
$rowhouse$;
set local citus.enable_ddl_propagation = 'off';
create or replace function api."todos__1c74977b73725be7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) returns pg_catalog.text language plpgsql stable security definer as $rowhouse$
-- The endpoint list of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$states" pg_catalog.bytea;
  "$first" pg_catalog.uuid;
  "$tag" pg_catalog.text;
  "$head" pg_catalog.text;
  "$found" pg_catalog.int8;
  "$size" pg_catalog.int8;
  "$text" pg_catalog.text;
  "$one" pg_catalog.record;
  "$rows" pg_catalog.text[] := '{}';
  "$count" pg_catalog.int8 := 0;
  "$bytes" pg_catalog.int8 := 0;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true),
    pg_catalog.set_config('jit', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 1::pg_catalog.int2) operator(pg_catalog.=) 1::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_call($1, $2, 'todos');
  end if;
  select pg_catalog.string_agg("$row"."$state", ''::pg_catalog.bytea),
    pg_catalog.count(*), coalesce(pg_catalog.sum("$row"."$size"), 0)
  into "$states", "$found", "$size" from (
    select pg_catalog.uuid_send("$t"."id") operator(pg_catalog.||) pg_catalog.xidsend("$t"."xmin") operator(pg_catalog.||) pg_catalog.tidsend("$t"."ctid") as "$state", (coalesce(pg_catalog.octet_length("$t"."title"), 0)::pg_catalog.int8 operator(pg_catalog.+) coalesce(pg_catalog.pg_column_size("$t"."checklist"), 0)::pg_catalog.int8 operator(pg_catalog.+) 264::pg_catalog.int8) as "$size"
    from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 order by "$t"."id" limit $3 operator(pg_catalog.+) 1 offset $4) as "$row";
  "$first" := pg_catalog.encode(pg_catalog.substring("$states", 1, 16), 'hex')::pg_catalog.uuid;
  "$tag" := pg_catalog.left(pg_catalog.encode(pg_catalog.sha256((select "$seed"."value" from rowhouse."tag_seed" as "$seed" where "$seed"."is_only") operator(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.pg_postmaster_start_time()) operator(pg_catalog.||) '1c74977b73725be7'::pg_catalog.bytea operator(pg_catalog.||) pg_catalog.int4send($3) operator(pg_catalog.||) pg_catalog.int4send($4) operator(pg_catalog.||) pg_catalog.int4send($5) operator(pg_catalog.||) coalesce("$states", ''::pg_catalog.bytea)), 'hex'), 32);
  "$head" := pg_catalog.concat("$tag", $1, ' 1c74977b73725be7 ', $3, ' ', $4, ' ');
  if "$size" operator(pg_catalog.>) $7 or "$tag" operator(pg_catalog.=) any (pg_catalog.string_to_array($6, ',')) then
    return "$head";
  end if;
  if "$size" operator(pg_catalog.<=) 786432 then
    select pg_catalog.concat("$head", '{"rows":[', pg_catalog.string_agg(pg_catalog.row_to_json("$row")::pg_catalog.text, ','), '],"limit":', $3, ',"offset":', $4, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) $3 then 'true' else 'false' end, '}')
    into "$text" from (select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1
      and "$t"."id" operator(pg_catalog.>=) "$first" order by "$t"."id" limit $3) as "$row";
    if pg_catalog.octet_length("$text") operator(pg_catalog.<=) $5 then
      return "$text";
    end if;
  end if;
  for "$one" in select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1
      and "$t"."id" operator(pg_catalog.>=) "$first" order by "$t"."id" limit $3 loop
    exit when "$bytes" operator(pg_catalog.>) $5;
    "$text" := case when (coalesce(pg_catalog.octet_length("$one"."title"), 0)::pg_catalog.int8 operator(pg_catalog.+) coalesce(pg_catalog.pg_column_size("$one"."checklist"), 0)::pg_catalog.int8) operator(pg_catalog.<=) $5 then pg_catalog.row_to_json("$one")::pg_catalog.text end;
    if "$text" is null or pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
      if "$count" operator(pg_catalog.=) 0 then
        return rowhouse.reject_row("$one"."id");
      end if;
      exit;
    end if;
    "$rows" := pg_catalog.array_append("$rows", "$text");
    "$count" := "$count" operator(pg_catalog.+) 1;
    "$bytes" := "$bytes" operator(pg_catalog.+) pg_catalog.octet_length("$text");
  end loop;
  return pg_catalog.concat("$head", '{"rows":[', pg_catalog.array_to_string("$rows", ','), '],"limit":', $3, ',"offset":', $4, ',"hasMore":',
      case when "$found" operator(pg_catalog.>) "$count" then 'true' else 'false' end, '}');
end
$rowhouse$;
alter function api."todos__1c74977b73725be7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) owner to rowhouse_tenant;
revoke all on function api."todos__1c74977b73725be7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) from public;
grant execute on function api."todos__1c74977b73725be7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4) to rowhouse_service, rowhouse_data;
create or replace function api."todos__1c74977b73725be7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint get of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  "$text" := case when exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 1::pg_catalog.int2) operator(pg_catalog.=) 1::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then (
    select pg_catalog.row_to_json("$row")::pg_catalog.text
    from (select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) as "$row"
  ) else rowhouse.reject_call($1, $2, 'todos') end;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $4 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."todos__1c74977b73725be7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) owner to rowhouse_tenant;
revoke all on function api."todos__1c74977b73725be7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) from public;
grant execute on function api."todos__1c74977b73725be7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4) to rowhouse_service, rowhouse_data;
create or replace function api."todos__1c74977b73725be7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint create of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$body" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$v0" pg_catalog.text := ("$body" operator(pg_catalog.->>) 'title')::pg_catalog.text;
  "$v1" data."todos__status__enum" := case when "$body" operator(pg_catalog.?) 'status' then ("$body" operator(pg_catalog.->>) 'status')::data."todos__status__enum" else 'open'::data."todos__status__enum" end;
  "$v2" pg_catalog.uuid := ("$body" operator(pg_catalog.->>) 'project')::pg_catalog.uuid;
  "$v3" pg_catalog.numeric := ("$body" operator(pg_catalog.->>) 'estimate_hours')::pg_catalog.numeric;
  "$v4" pg_catalog.jsonb := case when ("$body" operator(pg_catalog.->>) 'checklist') is not null then "$body" operator(pg_catalog.->) 'checklist' end;
  "$v5" pg_catalog.uuid := ("$body" operator(pg_catalog.->>) 'blocks')::pg_catalog.uuid;
  "$v6" pg_catalog.timestamptz := case when "$body" operator(pg_catalog.?) 'changed' then ("$body" operator(pg_catalog.->>) 'changed')::pg_catalog.timestamptz else pg_catalog.now() end;
  "$row" pg_catalog.record;
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'todos', $6);
  end if;
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, (select pg_catalog.row_to_json("$new")::pg_catalog.text from (select $3 as "id", $1 as "app_id", "$v0" as "title", "$v1" as "status", "$v2" as "project", "$v3"::pg_catalog.text as "estimate_hours", "$v4" as "checklist", "$v5" as "blocks", "$v6" as "changed") as "$new"), pg_catalog.concat('{"id":"', $3, '"}'));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  insert into data."todos" as "$t" ("app_id", "id", "title", "status", "project", "estimate_hours", "checklist", "blocks", "changed")
  values ($1, $3, "$v0", "$v1", "$v2", "$v3", "$v4", "$v5", "$v6")
  returning "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" into "$row";
  "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."todos__1c74977b73725be7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."todos__1c74977b73725be7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) from public;
grant execute on function api."todos__1c74977b73725be7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."todos__1c74977b73725be7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint create_many of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$all" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$body" pg_catalog.jsonb;
  "$id" pg_catalog.uuid;
  "$v0" pg_catalog.text;
  "$v1" data."todos__status__enum";
  "$v2" pg_catalog.uuid;
  "$v3" pg_catalog.numeric;
  "$v4" pg_catalog.jsonb;
  "$v5" pg_catalog.uuid;
  "$v6" pg_catalog.timestamptz;
  "$row" pg_catalog.record;
  "$count" pg_catalog.int4 := 0;
  "$rows" pg_catalog.text[] := '{}';
  "$text" pg_catalog.text;
  "$state" pg_catalog.text;
  "$message" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'todos', $6);
  end if;
  if pg_catalog.jsonb_typeof("$all") operator(pg_catalog.=) 'object' then
    declare
      "$order" pg_catalog.int4[] := array(select "$one"."$n"::pg_catalog.int4 from pg_catalog.unnest($3) with ordinality as "$one" ("$id", "$n")
        order by "$one"."$id");
      "$nth" pg_catalog.int4;
      "$match" pg_catalog.text;
      "$missing" pg_catalog.int4[] := '{}';
      "$unmatched" pg_catalog.int4[] := '{}';
      "$written" pg_catalog.uuid[] := '{}';
      "$changed" pg_catalog.bool;
      "$now" pg_catalog.timestamptz;
      "$size" pg_catalog.int8 := 0;
    begin
  "$all" := "$all" operator(pg_catalog.->) 'updates';
  "$rows" := pg_catalog.array_fill(null::pg_catalog.text, array[pg_catalog.cardinality($3)]);
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, null, (select pg_catalog.concat('{"rows":[', pg_catalog.string_agg(pg_catalog.concat('{"id":"', "$one"."$id", '"}'), ',' order by "$one"."$n"), ']}')
    from pg_catalog.unnest($3) with ordinality as "$one" ("$id", "$n")));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  foreach "$nth" in array "$order" loop
    select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"] for no key update;
    "$match" := "$all" operator(pg_catalog.->) ("$nth" operator(pg_catalog.-) 1) operator(pg_catalog.->>) 'ifMatch';
    if not found then
      "$missing" := pg_catalog.array_append("$missing", "$nth" operator(pg_catalog.-) 1);
    elsif "$match" is not null and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array("$match", ',')) then
      "$unmatched" := pg_catalog.array_append("$unmatched", "$nth" operator(pg_catalog.-) 1);
    end if;
  end loop;
  if pg_catalog.cardinality("$missing") operator(pg_catalog.+) pg_catalog.cardinality("$unmatched") operator(pg_catalog.>) 0 then
    if $6 is not null then
      perform rowhouse.forget_key($1, $6);
    end if;
    return pg_catalog.concat('N', pg_catalog.json_build_object('missing', "$missing", 'unmatched', "$unmatched"));
  end if;
  "$now" := pg_catalog.clock_timestamp();
  begin
    foreach "$nth" in array array(select pg_catalog.generate_series(1, pg_catalog.cardinality($3))) loop
      "$body" := ("$all" operator(pg_catalog.->) ("$nth" operator(pg_catalog.-) 1)) operator(pg_catalog.-) 'ifMatch';
      "$v0" := ("$body" operator(pg_catalog.->>) 'title')::pg_catalog.text;
      "$v1" := ("$body" operator(pg_catalog.->>) 'status')::data."todos__status__enum";
      "$v2" := ("$body" operator(pg_catalog.->>) 'project')::pg_catalog.uuid;
      "$v3" := ("$body" operator(pg_catalog.->>) 'estimate_hours')::pg_catalog.numeric;
      "$v4" := case when ("$body" operator(pg_catalog.->>) 'checklist') is not null then "$body" operator(pg_catalog.->) 'checklist' end;
      "$v5" := ("$body" operator(pg_catalog.->>) 'blocks')::pg_catalog.uuid;
      "$v6" := ("$body" operator(pg_catalog.->>) 'changed')::pg_catalog.timestamptz;
      "$changed" := false;
      if "$body" operator(pg_catalog.<>) '{}' then
        select pg_catalog.record_image_ne(row("$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed"), row(case when "$body" operator(pg_catalog.?) 'title' then "$v0" else "$t"."title" end, case when "$body" operator(pg_catalog.?) 'status' then "$v1" else "$t"."status" end, case when "$body" operator(pg_catalog.?) 'project' then "$v2" else "$t"."project" end, case when "$body" operator(pg_catalog.?) 'estimate_hours' then "$v3" else "$t"."estimate_hours" end, case when "$body" operator(pg_catalog.?) 'checklist' then "$v4" else "$t"."checklist" end, case when "$body" operator(pg_catalog.?) 'blocks' then "$v5" else "$t"."blocks" end, case when "$body" operator(pg_catalog.?) 'changed' then "$v6" else "$t"."changed" end)) into "$changed" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"];
      end if;
      if "$changed" then
        update data."todos" as "$t" set
          "title" = case when "$body" operator(pg_catalog.?) 'title' then "$v0" else "$t"."title" end,
          "status" = case when "$body" operator(pg_catalog.?) 'status' then "$v1" else "$t"."status" end,
          "project" = case when "$body" operator(pg_catalog.?) 'project' then "$v2" else "$t"."project" end,
          "estimate_hours" = case when "$body" operator(pg_catalog.?) 'estimate_hours' then "$v3" else "$t"."estimate_hours" end,
          "checklist" = case when "$body" operator(pg_catalog.?) 'checklist' then "$v4" else "$t"."checklist" end,
          "blocks" = case when "$body" operator(pg_catalog.?) 'blocks' then "$v5" else "$t"."blocks" end,
          "changed" = case when "$body" operator(pg_catalog.?) 'changed' then "$v6" when "$changed" then "$now" else "$t"."changed" end
        where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"]
        returning "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" into "$row";
        "$written" := pg_catalog.array_append("$written", ($3)["$nth"]);
      else
        select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) ($3)["$nth"];
      end if;
      "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
      "$size" := "$size" operator(pg_catalog.+) pg_catalog.octet_length("$text");
      if "$size" operator(pg_catalog.>) $5 then
        return rowhouse.reject_row(($3)["$nth"]);
      end if;
      "$rows"["$nth"] := "$text";
    end loop;
  exception when integrity_constraint_violation then
    get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = ("$nth" operator(pg_catalog.-) 1)::pg_catalog.text;
  end;
  "$text" := pg_catalog.concat('{"rows":[', pg_catalog.array_to_string("$rows", ','), ']}');
  if $6 is not null then
    perform rowhouse.complete_key($1, $6, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row(($3)[1]);
  end if;
  return "$text";
    end;
  end if;
  if $6 is not null then
    "$text" := rowhouse.claim_key($1, $2, $6, null, (select pg_catalog.concat('{"rows":[', pg_catalog.string_agg(pg_catalog.concat('{"id":"', "$one"."$id", '"}'), ',' order by "$one"."$id"), ']}') from pg_catalog.unnest($3) as "$one" ("$id")));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  begin
    while "$count" operator(pg_catalog.<) pg_catalog.cardinality($3) loop
      "$body" := "$all" operator(pg_catalog.->) "$count";
      "$count" := "$count" operator(pg_catalog.+) 1;
      "$id" := ($3)["$count"];
      "$v0" := ("$body" operator(pg_catalog.->>) 'title')::pg_catalog.text;
      "$v1" := case when "$body" operator(pg_catalog.?) 'status' then ("$body" operator(pg_catalog.->>) 'status')::data."todos__status__enum" else 'open'::data."todos__status__enum" end;
      "$v2" := ("$body" operator(pg_catalog.->>) 'project')::pg_catalog.uuid;
      "$v3" := ("$body" operator(pg_catalog.->>) 'estimate_hours')::pg_catalog.numeric;
      "$v4" := case when ("$body" operator(pg_catalog.->>) 'checklist') is not null then "$body" operator(pg_catalog.->) 'checklist' end;
      "$v5" := ("$body" operator(pg_catalog.->>) 'blocks')::pg_catalog.uuid;
      "$v6" := case when "$body" operator(pg_catalog.?) 'changed' then ("$body" operator(pg_catalog.->>) 'changed')::pg_catalog.timestamptz else pg_catalog.now() end;
      insert into data."todos" as "$t" ("app_id", "id", "title", "status", "project", "estimate_hours", "checklist", "blocks", "changed")
      values ($1, "$id", "$v0", "$v1", "$v2", "$v3", "$v4", "$v5", "$v6")
      returning "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" into "$row";
      "$rows" := pg_catalog.array_append("$rows", pg_catalog.row_to_json("$row")::pg_catalog.text);
    end loop;
  exception when integrity_constraint_violation then
    get stacked diagnostics "$state" = returned_sqlstate, "$message" = message_text;
    raise exception '%', "$message" using errcode = "$state", hint = ("$count" operator(pg_catalog.-) 1)::pg_catalog.text;
  end;
  "$text" := pg_catalog.concat('{"rows":[', pg_catalog.array_to_string("$rows", ','), ']}');
  if $6 is not null then
    perform rowhouse.complete_key($1, $6, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row(($3)[1]);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."todos__1c74977b73725be7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."todos__1c74977b73725be7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) from public;
grant execute on function api."todos__1c74977b73725be7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."todos__1c74977b73725be7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint update of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$body" pg_catalog.jsonb := $4::pg_catalog.jsonb;
  "$v0" pg_catalog.text := ("$body" operator(pg_catalog.->>) 'title')::pg_catalog.text;
  "$v1" data."todos__status__enum" := ("$body" operator(pg_catalog.->>) 'status')::data."todos__status__enum";
  "$v2" pg_catalog.uuid := ("$body" operator(pg_catalog.->>) 'project')::pg_catalog.uuid;
  "$v3" pg_catalog.numeric := ("$body" operator(pg_catalog.->>) 'estimate_hours')::pg_catalog.numeric;
  "$v4" pg_catalog.jsonb := case when ("$body" operator(pg_catalog.->>) 'checklist') is not null then "$body" operator(pg_catalog.->) 'checklist' end;
  "$v5" pg_catalog.uuid := ("$body" operator(pg_catalog.->>) 'blocks')::pg_catalog.uuid;
  "$v6" pg_catalog.timestamptz := ("$body" operator(pg_catalog.->>) 'changed')::pg_catalog.timestamptz;
  "$changed" pg_catalog.bool;
  "$now" pg_catalog.timestamptz;
  "$row" pg_catalog.record;
  "$text" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'todos', $7);
  end if;
  if $7 is not null then
    "$text" := rowhouse.claim_key($1, $2, $7, null, pg_catalog.concat('{"id":"', $3, '"}'));
    if "$text" is not null then
      return "$text";
    end if;
  end if;
  if "$body" operator(pg_catalog.<>) '{}' then
    select pg_catalog.record_image_ne(row("$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed"), row(case when "$body" operator(pg_catalog.?) 'title' then "$v0" else "$t"."title" end, case when "$body" operator(pg_catalog.?) 'status' then "$v1" else "$t"."status" end, case when "$body" operator(pg_catalog.?) 'project' then "$v2" else "$t"."project" end, case when "$body" operator(pg_catalog.?) 'estimate_hours' then "$v3" else "$t"."estimate_hours" end, case when "$body" operator(pg_catalog.?) 'checklist' then "$v4" else "$t"."checklist" end, case when "$body" operator(pg_catalog.?) 'blocks' then "$v5" else "$t"."blocks" end, case when "$body" operator(pg_catalog.?) 'changed' then "$v6" else "$t"."changed" end)) into "$changed"
    from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3 for no key update;
    "$now" := pg_catalog.clock_timestamp();
  end if;
  if $6 is not null then
    select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3 for update;
    if found and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array($6, ',')) then
      if $7 is not null then
        perform rowhouse.forget_key($1, $7);
      end if;
      return '412';
    end if;
  end if;
  if "$body" operator(pg_catalog.=) '{}' then
      select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3;
    else
      update data."todos" as "$t" set
        "title" = case when "$body" operator(pg_catalog.?) 'title' then "$v0" else "$t"."title" end,
        "status" = case when "$body" operator(pg_catalog.?) 'status' then "$v1" else "$t"."status" end,
        "project" = case when "$body" operator(pg_catalog.?) 'project' then "$v2" else "$t"."project" end,
        "estimate_hours" = case when "$body" operator(pg_catalog.?) 'estimate_hours' then "$v3" else "$t"."estimate_hours" end,
        "checklist" = case when "$body" operator(pg_catalog.?) 'checklist' then "$v4" else "$t"."checklist" end,
        "blocks" = case when "$body" operator(pg_catalog.?) 'blocks' then "$v5" else "$t"."blocks" end,
        "changed" = case when "$body" operator(pg_catalog.?) 'changed' then "$v6" when "$changed" then "$now" else "$t"."changed" end
      where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3
      returning "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" into "$row";
    end if;
  if not found then
    if $7 is not null then
      perform rowhouse.forget_key($1, $7);
    end if;
    return case when $6 is not null and exists (
    select from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) then '412' end;
  end if;
  "$text" := pg_catalog.row_to_json("$row")::pg_catalog.text;
  if $7 is not null then
    perform rowhouse.complete_key($1, $7, "$text");
  end if;
  if pg_catalog.octet_length("$text") operator(pg_catalog.>) $5 then
    return rowhouse.reject_row($3);
  end if;
  return "$text";
end
$rowhouse$;
alter function api."todos__1c74977b73725be7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) owner to rowhouse_tenant;
revoke all on function api."todos__1c74977b73725be7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) from public;
grant execute on function api."todos__1c74977b73725be7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea) to rowhouse_service, rowhouse_data;
create or replace function api."todos__1c74977b73725be7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) returns pg_catalog.text language plpgsql volatile security definer as $rowhouse$
-- The endpoint delete of a table. Generated by src/tables/sql/functions.ts: a push replaces it.
declare
  "$row" pg_catalog.record;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_custom_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  if not exists (select from rowhouse."proofs" as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1 and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 130::pg_catalog.int2) operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or 'todos' operator(pg_catalog.<>) all ("$p"."ended"))) then
    return rowhouse.reject_write($1, $2, 'todos', null);
  end if;
  if $4 is not null then
    select "$t"."id", "$t"."app_id", "$t"."title", "$t"."status", "$t"."project", "$t"."estimate_hours"::pg_catalog.text as "estimate_hours", "$t"."checklist", "$t"."blocks", "$t"."changed" into "$row" from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3 for update;
    if found and pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.row_to_json("$row")::pg_catalog.text, 'UTF8')), 'hex'), 32) operator(pg_catalog.<>) all (pg_catalog.string_to_array($4, ',')) then
      return '412';
    end if;
  end if;
  delete from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3;
  if found then
    return '';
  end if;
  return case when $4 is not null and exists (
    select from data."todos" as "$t" where "$t"."app_id" operator(pg_catalog.=) $1 and "$t"."id" operator(pg_catalog.=) $3) then '412' end;
end
$rowhouse$;
alter function api."todos__1c74977b73725be7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) owner to rowhouse_tenant;
revoke all on function api."todos__1c74977b73725be7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) from public;
grant execute on function api."todos__1c74977b73725be7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text) to rowhouse_service, rowhouse_data;
set local citus.enable_ddl_propagation = 'on';
do $rowhouse$
begin perform create_distributed_function('api."todos__1c74977b73725be7_list"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.int4, pg_catalog.int4, pg_catalog.int4, pg_catalog.text, pg_catalog.int4)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__1c74977b73725be7_get"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.int4)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__1c74977b73725be7_create"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__1c74977b73725be7_create_many"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid[], pg_catalog.text, pg_catalog.int4, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__1c74977b73725be7_update"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text, pg_catalog.int4, pg_catalog.text, pg_catalog.bytea)', '$1', 'rowhouse.shards'); end
$rowhouse$;
do $rowhouse$
begin perform create_distributed_function('api."todos__1c74977b73725be7_delete"(pg_catalog.uuid, pg_catalog.bytea, pg_catalog.uuid, pg_catalog.text)', '$1', 'rowhouse.shards'); end
$rowhouse$;
select rowhouse.record_push('00000000-0000-4000-8000-00000000000a', E'{"checksum":"sha256:c63fe41fd698713942965e28308787632a8938b4c64745408dccaf066e0fd896","isReplay":false,"keyId":null,"name":"add_value_doing_to_todos_status","parent":"sha256:ded4fc77d764ca31ecf2e7119e75337e9cf0415c691aedea4bbdf48f7a63a06b","seq":2,"sql":"alter type data.\\"todos__status__enum\\" add value ''doing'' before ''done'';\\nalter table data.\\"projects\\" add column \\"owner\\" pg_catalog.text default ''$rowhouse$''::pg_catalog.text;\\nalter table data.\\"todos\\" add column \\"blocks\\" pg_catalog.uuid;\\nalter table data.\\"todos\\" add column \\"changed\\" pg_catalog.timestamptz default pg_catalog.now();\\ncreate index \\"todos__blocks__idx\\" on data.\\"todos\\" (\\"app_id\\", \\"blocks\\") where \\"blocks\\" is not null;\\nalter table data.\\"todos\\" add constraint \\"todos__blocks__fkey\\" foreign key (\\"app_id\\", \\"blocks\\") references data.\\"todos\\" (\\"app_id\\", \\"id\\") not valid;\\nalter table data.\\"todos\\" no force row level security;\\nalter table data.\\"todos\\" validate constraint \\"todos__blocks__fkey\\";\\nalter table data.\\"todos\\" force row level security;\\n","text":"-- rowhouse migration 0002_add_value_doing_to_todos_status\\n--   add value \\"doing\\" to todos.status\\n--   add column projects.owner\\n--   add column todos.blocks\\n--   add column todos.changed\\n--   add index (blocks) to todos\\n--   add reference todos.blocks to todos\\n-- written by rowhouse db push; do not edit: services refuse it\\n-- definition {\\"tables\\":[{\\"columns\\":[{\\"index\\":false,\\"kind\\":\\"string\\",\\"name\\":\\"name\\",\\"required\\":true,\\"unique\\":true},{\\"default\\":\\"$rowhouse$\\",\\"index\\":false,\\"kind\\":\\"string\\",\\"name\\":\\"owner\\",\\"required\\":false,\\"unique\\":false}],\\"indexes\\":[],\\"name\\":\\"projects\\",\\"uniques\\":[]},{\\"columns\\":[{\\"index\\":false,\\"kind\\":\\"string\\",\\"name\\":\\"title\\",\\"required\\":true,\\"unique\\":false},{\\"default\\":\\"open\\",\\"index\\":true,\\"kind\\":\\"enum\\",\\"name\\":\\"status\\",\\"required\\":true,\\"unique\\":false,\\"values\\":[\\"open\\",\\"doing\\",\\"done\\"]},{\\"index\\":false,\\"kind\\":\\"ref\\",\\"name\\":\\"project\\",\\"onDelete\\":\\"cascade\\",\\"required\\":false,\\"table\\":\\"projects\\",\\"unique\\":false},{\\"index\\":false,\\"kind\\":\\"ref\\",\\"name\\":\\"blocks\\",\\"required\\":false,\\"table\\":\\"todos\\",\\"unique\\":false},{\\"index\\":false,\\"kind\\":\\"decimal\\",\\"name\\":\\"estimate_hours\\",\\"required\\":false,\\"unique\\":false},{\\"index\\":false,\\"kind\\":\\"json\\",\\"name\\":\\"checklist\\",\\"required\\":false,\\"unique\\":false},{\\"default\\":\\"now\\",\\"index\\":false,\\"kind\\":\\"timestamp\\",\\"name\\":\\"changed\\",\\"onUpdate\\":\\"now\\",\\"required\\":false,\\"unique\\":false}],\\"indexes\\":[],\\"name\\":\\"todos\\",\\"uniques\\":[]}],\\"version\\":1}\\nalter type data.\\"todos__status__enum\\" add value ''doing'' before ''done'';\\nalter table data.\\"projects\\" add column \\"owner\\" pg_catalog.text default ''$rowhouse$''::pg_catalog.text;\\nalter table data.\\"todos\\" add column \\"blocks\\" pg_catalog.uuid;\\nalter table data.\\"todos\\" add column \\"changed\\" pg_catalog.timestamptz default pg_catalog.now();\\ncreate index \\"todos__blocks__idx\\" on data.\\"todos\\" (\\"app_id\\", \\"blocks\\") where \\"blocks\\" is not null;\\nalter table data.\\"todos\\" add constraint \\"todos__blocks__fkey\\" foreign key (\\"app_id\\", \\"blocks\\") references data.\\"todos\\" (\\"app_id\\", \\"id\\") not valid;\\nalter table data.\\"todos\\" no force row level security;\\nalter table data.\\"todos\\" validate constraint \\"todos__blocks__fkey\\";\\nalter table data.\\"todos\\" force row level security;\\n-- checksum sha256:c63fe41fd698713942965e28308787632a8938b4c64745408dccaf066e0fd896\\n","widened":[]}'::jsonb, '[{"columns":[{"index":false,"kind":"string","name":"name","required":true,"unique":true},{"default":"$rowhouse$","index":false,"kind":"string","name":"owner","required":false,"unique":false}],"indexes":[],"name":"projects","uniques":[]},{"columns":[{"index":false,"kind":"string","name":"title","required":true,"unique":false},{"default":"open","index":true,"kind":"enum","name":"status","required":true,"unique":false,"values":["open","doing","done"]},{"index":false,"kind":"ref","name":"project","onDelete":"cascade","required":false,"table":"projects","unique":false},{"index":false,"kind":"decimal","name":"estimate_hours","required":false,"unique":false},{"index":false,"kind":"json","name":"checklist","required":false,"unique":false},{"index":false,"kind":"ref","name":"blocks","required":false,"table":"todos","unique":false},{"default":"now","index":false,"kind":"timestamp","name":"changed","onUpdate":"now","required":false,"unique":false}],"indexes":[],"name":"todos","uniques":[]}]'::jsonb, '[{"columns":{"columns":[{"kind":"string","name":"name"},{"default":"$rowhouse$","kind":"string","name":"owner"}],"name":"projects"},"definition":{"columns":[{"index":false,"kind":"string","name":"name","required":true,"unique":true},{"default":"$rowhouse$","index":false,"kind":"string","name":"owner","required":false,"unique":false}],"indexes":[],"name":"projects","uniques":[]},"hash":"fff694e7d1374162"},{"columns":{"columns":[{"kind":"string","name":"title"},{"default":"open","kind":"enum","name":"status"},{"kind":"ref","name":"project"},{"kind":"decimal","name":"estimate_hours"},{"kind":"json","name":"checklist"},{"kind":"ref","name":"blocks"},{"default":"now","kind":"timestamp","name":"changed","onUpdate":"now"}],"name":"todos"},"definition":{"columns":[{"index":false,"kind":"string","name":"title","required":true,"unique":false},{"default":"open","index":true,"kind":"enum","name":"status","required":true,"unique":false,"values":["open","doing","done"]},{"index":false,"kind":"ref","name":"project","onDelete":"cascade","required":false,"table":"projects","unique":false},{"index":false,"kind":"decimal","name":"estimate_hours","required":false,"unique":false},{"index":false,"kind":"json","name":"checklist","required":false,"unique":false},{"index":false,"kind":"ref","name":"blocks","required":false,"table":"todos","unique":false},{"default":"now","index":false,"kind":"timestamp","name":"changed","onUpdate":"now","required":false,"unique":false}],"indexes":[],"name":"todos","uniques":[]},"hash":"1c74977b73725be7"}]'::jsonb, '[]'::jsonb) as version

-- a conversion

do $rowhouse$
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0));
end
$rowhouse$;
set local statement_timeout = 0;
set local lock_timeout = '700ms';
set local client_min_messages = 'notice';
set local citus.multi_shard_modify_mode = 'sequential';
do $rowhouse$
begin
  lock table rowhouse.migrations, rowhouse.proofs, rowhouse.idempotency_keys, rowhouse.tag_seed in access exclusive mode;
  perform rowhouse.lock_tables(array['projects', 'todos']::pg_catalog.text[], '{}', 700);
end
$rowhouse$;
set local timezone = 'UTC';
set local lock_timeout = 0;
do $rowhouse$
begin
  if pg_catalog.to_regclass('rowhouse.shards') is not null
    or pg_catalog.md5((select 'facts')) <> '0'
  then
    raise exception 'not what was checked' using errcode = 'RH002';
  end if;
end
$rowhouse$;
create temporary table rows_counted (moment text, name text, app_id uuid, row_count bigint) on commit drop;
do $rowhouse$
begin
  raise notice '%', 'rowhouse: locked all tables';
end
$rowhouse$;
do $rowhouse$
begin
  insert into pg_temp.rows_counted
  select 'before', 'rowhouse.proofs', app_id, pg_catalog.count(*) from rowhouse.proofs group by app_id;
end
$rowhouse$;
do $rowhouse$
begin
  insert into pg_temp.rows_counted
  select 'before', 'rowhouse.idempotency_keys', app_id, pg_catalog.count(*) from rowhouse.idempotency_keys group by app_id;
end
$rowhouse$;
do $rowhouse$
begin
  insert into pg_temp.rows_counted
  select 'before', 'projects', app_id, pg_catalog.count(*) from data."projects" group by app_id;
end
$rowhouse$;
do $rowhouse$
begin
  insert into pg_temp.rows_counted
  select 'before', 'todos', app_id, pg_catalog.count(*) from data."todos" group by app_id;
end
$rowhouse$;
do $rowhouse$
begin
  set local citus.multi_shard_modify_mode = 'sequential';
  create table if not exists rowhouse.shards (app_id uuid primary key);
  alter table rowhouse.shards owner to rowhouse_owner;
  grant select, delete on rowhouse.shards to rowhouse_rows;
  if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'rowhouse.shards'::regclass) then
    perform create_distributed_table('rowhouse.shards', 'app_id', colocate_with := 'none', shard_count := 8);
  end if;
  if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'rowhouse.proofs'::regclass) then
    perform create_distributed_table('rowhouse.proofs', 'app_id', colocate_with := 'rowhouse.shards');
    perform truncate_local_data_after_distributing_table('rowhouse.proofs');
  end if;
  if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'rowhouse.idempotency_keys'::regclass) then
    perform create_distributed_table('rowhouse.idempotency_keys', 'app_id', colocate_with := 'rowhouse.shards');
    perform truncate_local_data_after_distributing_table('rowhouse.idempotency_keys');
  end if;
  if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = 'rowhouse.tag_seed'::regclass) then
    perform create_reference_table('rowhouse.tag_seed');
  end if;
end
$rowhouse$;
do $rowhouse$
begin
  raise notice '%', 'rowhouse: distributed the keys'' proofs and the responses of writes';
end
$rowhouse$;
do $rowhouse$
begin
  alter table data."projects" drop constraint "projects__first__fkey";
end
$rowhouse$;
do $rowhouse$
begin
  perform pg_catalog.create_distributed_table('data."projects"', 'app_id', colocate_with := 'rowhouse.shards');
  raise notice '%', 'rowhouse: distributed table projects (1 of 2)';
end
$rowhouse$;
do $rowhouse$
begin
  perform pg_catalog.create_distributed_table('data."todos"', 'app_id', colocate_with := 'rowhouse.shards');
  raise notice '%', 'rowhouse: distributed table todos (2 of 2)';
end
$rowhouse$;
do $rowhouse$
begin
  alter table data."projects" add constraint "projects__first__fkey" FOREIGN KEY (app_id, first) REFERENCES data.todos(app_id, id);
end
$rowhouse$;
do $rowhouse$
begin
  set local citus.enable_ddl_propagation = 'off';
  create or replace function rowhouse.enter_app(app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('rowhouse.app_id', app::text, true);
  perform set_config('citus.propagate_set_commands', 'local', true);
  execute format('do $block$ begin set local rowhouse.app_id = %1$L; delete from rowhouse.shards where app_id = %1$L; end $block$', app);
  perform set_config('citus.propagate_set_commands', 'none', true);
end
$$;
  create or replace function rowhouse.delete_proof(app uuid, proof_digest bytea) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('rowhouse.app_id', app::text, true);
  perform set_config('citus.propagate_set_commands', 'local', true);
  execute format('do $block$ begin set local rowhouse.app_id = %1$L; delete from rowhouse.proofs where app_id = %1$L and digest = %2$L; end $block$', app, one);
  perform set_config('citus.propagate_set_commands', 'none', true);
end
$$;
  create or replace function rowhouse.delete_stored(app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('rowhouse.app_id', app::text, true);
  perform set_config('citus.propagate_set_commands', 'local', true);
  execute format('do $block$ begin set local rowhouse.app_id = %1$L; delete from rowhouse.proofs where app_id = %1$L; delete from rowhouse.idempotency_keys where app_id = %1$L; end $block$', app);
  perform set_config('citus.propagate_set_commands', 'none', true);
end
$$;
  create or replace function rowhouse.drop_part(statement text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute statement;
end
$$;
grant create on schema rowhouse to rowhouse_rows;
alter function rowhouse.drop_part(text) owner to rowhouse_rows;
revoke create on schema rowhouse from rowhouse_rows;
grant execute on function rowhouse.drop_part(text) to rowhouse_owner;
revoke execute on function rowhouse.drop_part(text) from public;
create or replace function rowhouse.drop_tables(names text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  statements text[];
  statement text;
begin
  perform set_config('lock_timeout', '700ms', true);
  statements := array(
    select format('drop function %s', pg_proc.oid::regprocedure) from pg_proc
    where pronamespace = 'api'::regnamespace and exists (
      select from (select table_name, hash from rowhouse.column_sets
        union all select table_name, hash from rowhouse.views) as generated
      where table_name = any (names)
        and starts_with(proname::text, left(table_name, 32) || '__' || hash || '_'))
  ) || array(
    select 'drop table ' || string_agg(format('data.%I', name), ', ')
      from unnest(names) as listed (name)
  ) || array(
    select distinct format('drop type data.%I', typname)
    from unnest(names) as listed (name)
    join pg_attribute on attrelid = format('data.%I', name)::regclass
    join pg_type on pg_type.oid = atttypid and typnamespace = 'data'::regnamespace
  );
  foreach statement in array statements loop
    perform rowhouse.drop_part(statement);
  end loop;
  delete from rowhouse.column_sets where table_name = any (names);
  delete from rowhouse.views where table_name = any (names);
  delete from rowhouse.deferred_steps where table_name = any (names);
  delete from rowhouse.tables where name = any (names);
end
$$;
end
$rowhouse$;
set local citus.enable_ddl_propagation = 'on';
do $rowhouse$
begin
  perform create_distributed_function('rowhouse.reject_key()');
end
$rowhouse$;
do $rowhouse$
begin
  perform create_distributed_function('rowhouse.reject_call(uuid, bytea, text)');
end
$rowhouse$;
do $rowhouse$
begin
  perform create_distributed_function('rowhouse.reject_write(uuid, bytea, text, bytea)');
end
$rowhouse$;
do $rowhouse$
begin
  perform create_distributed_function('rowhouse.reject_row(uuid)');
end
$rowhouse$;
do $rowhouse$
begin
  perform create_distributed_function('rowhouse.only_ids(text)');
end
$rowhouse$;
do $rowhouse$
begin
  perform create_distributed_function('rowhouse.claim_key(uuid, bytea, bytea, text, text)');
end
$rowhouse$;
do $rowhouse$
begin
  perform create_distributed_function('rowhouse.complete_key(uuid, bytea, text)');
end
$rowhouse$;
do $rowhouse$
begin
  perform create_distributed_function('rowhouse.forget_key(uuid, bytea)');
end
$rowhouse$;
do $rowhouse$
begin
  set local citus.enable_ddl_propagation = 'off';
  -- Nodes that migrate has set up. Other nodes get no shards: they lack roles and rights, so apps
-- whose rows moved there would fail.
create table if not exists rowhouse.nodes (id integer primary key);
alter table rowhouse.nodes owner to rowhouse_owner;
grant select on rowhouse.nodes
  to rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- Excludes a new node from rebalancing, and makes Citus reject moves of shards to it. Owned by the
-- superuser who migrates: Citus changes the node's property on every node as the caller.
create or replace function rowhouse.hold_new_nodes() returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false)
    from pg_dist_node
    where noderole = 'primary' and groupid <> 0 and shouldhaveshards
      and nodeid not in (select id from rowhouse.nodes);
end
$$;
revoke execute on function rowhouse.hold_new_nodes from public;
grant execute on function rowhouse.hold_new_nodes
  to rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- The rebalancer calls it before a service has excluded the node.
create or replace function rowhouse.may_have_shard(shard bigint, node integer) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.nodes where id = node)
$$;
alter function rowhouse.may_have_shard owner to rowhouse_owner;
revoke execute on function rowhouse.may_have_shard from public;

  if not exists (select from pg_catalog.pg_dist_rebalance_strategy where name = 'rowhouse') then
    perform pg_catalog.citus_add_rebalance_strategy('rowhouse', 'citus_shard_cost_by_disk_size', 'citus_node_capacity_1',
      'rowhouse.may_have_shard', 0.1, 0.01, 0.5);
    perform pg_catalog.citus_set_default_rebalance_strategy('rowhouse');
  end if;
end
$rowhouse$;
select 'functions';
do $rowhouse$
begin
  revoke all on function rowhouse.reject_key() from public;
end
$rowhouse$;
do $rowhouse$
begin
  revoke all on function rowhouse.reject_call(uuid, bytea, text) from public;
end
$rowhouse$;
do $rowhouse$
begin
  revoke all on function rowhouse.reject_write(uuid, bytea, text, bytea) from public;
end
$rowhouse$;
do $rowhouse$
begin
  revoke all on function rowhouse.reject_row(uuid) from public;
end
$rowhouse$;
do $rowhouse$
begin
  revoke all on function rowhouse.only_ids(text) from public;
end
$rowhouse$;
do $rowhouse$
begin
  revoke all on function rowhouse.claim_key(uuid, bytea, bytea, text, text) from public;
end
$rowhouse$;
do $rowhouse$
begin
  revoke all on function rowhouse.complete_key(uuid, bytea, text) from public;
end
$rowhouse$;
do $rowhouse$
begin
  revoke all on function rowhouse.forget_key(uuid, bytea) from public;
end
$rowhouse$;
do $rowhouse$
begin
  revoke all on function api."todos_get"(uuid) from public;
end
$rowhouse$;
do $rowhouse$
begin
  raise notice '%', 'rowhouse: distributed the functions';
end
$rowhouse$;
do $rowhouse$
begin
  perform pg_catalog.truncate_local_data_after_distributing_table('data."projects"');
end
$rowhouse$;
do $rowhouse$
begin
  perform pg_catalog.truncate_local_data_after_distributing_table('data."todos"');
end
$rowhouse$;
do $rowhouse$
begin
  insert into pg_temp.rows_counted
  select 'after', 'rowhouse.proofs', app_id, pg_catalog.count(*) from rowhouse.proofs group by app_id;
end
$rowhouse$;
do $rowhouse$
begin
  insert into pg_temp.rows_counted
  select 'after', 'rowhouse.idempotency_keys', app_id, pg_catalog.count(*) from rowhouse.idempotency_keys group by app_id;
end
$rowhouse$;
do $rowhouse$
begin
  insert into pg_temp.rows_counted
  select 'after', 'projects', app_id, pg_catalog.count(*) from data."projects" group by app_id;
end
$rowhouse$;
do $rowhouse$
begin
  insert into pg_temp.rows_counted
  select 'after', 'todos', app_id, pg_catalog.count(*) from data."todos" group by app_id;
end
$rowhouse$;
do $rowhouse$
begin
  if exists (
    select from (select * from pg_temp.rows_counted where moment = 'before') as before
    full join (select * from pg_temp.rows_counted where moment = 'after') as after using (name, app_id)
    where before.row_count is distinct from after.row_count)
  then
    raise exception 'the nodes have other rows' using errcode = 'RH015';
  end if;
end
$rowhouse$;
do $rowhouse$
begin
  raise notice '%', 'rowhouse: counted all rows again: each app has as many of each table as before';
end
$rowhouse$;
do $rowhouse$
begin
  update rowhouse.versions set version = version + 1 where name = 'catalog';
  update rowhouse.tables set version = (select version from rowhouse.versions where versions.name = 'catalog');
  perform rowhouse.log('operator', 'convert_to_citus', details => pg_catalog.jsonb_build_object('shards', 8, 'tables', 2,
    'rows', (select coalesce(pg_catalog.sum(row_count), 0) from pg_temp.rows_counted where moment = 'after')));
end
$rowhouse$;
select name, pg_catalog.sum(row_count)::pg_catalog.int8::pg_catalog.text as rows, pg_catalog.count(*)::pg_catalog.int4 as apps
from pg_temp.rows_counted where moment = 'after' group by name order by name
