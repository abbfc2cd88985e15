/**
 * The house's own roles, schemas and tables. Apps' tables and functions are push's business, not this one's.
 *
 * Roles (cluster-wide, none can log in): `rowhouse_owner` owns schemas and tables; `rowhouse_tenant` owns the
 * generated functions, owns no table and does not bypass row security; `rowhouse_service` is what a serving login is
 * a member of: EXECUTE on the functions, plain grants on `rowhouse.*`, nothing on apps' tables.
 *
 * @module
 */
export const HOUSE = `
do $$
declare
  role_name text;
begin
  foreach role_name in array array['rowhouse_owner', 'rowhouse_tenant', 'rowhouse_service'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin nosuperuser nocreatedb nocreaterole nobypassrls', role_name);
      exception when duplicate_object or unique_violation then
        null; -- another database of this cluster was faster
      end;
    end if;
  end loop;
  if not pg_has_role('rowhouse_owner', 'rowhouse_tenant', 'usage') then
    grant rowhouse_tenant to rowhouse_owner;
  end if;
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
     and not pg_has_role(current_user, 'rowhouse_owner', 'usage') then
    execute format('grant rowhouse_owner to %I', current_user);
  end if;
  -- A temporary schema is searched first: a hostile type there would run inside the functions as their owner.
  execute format('revoke temporary on database %I from public', current_database());
  execute format('grant create on database %I to rowhouse_owner', current_database());
end
$$;
create schema rowhouse authorization rowhouse_owner;
create schema data authorization rowhouse_owner;
create schema api authorization rowhouse_owner;
do $$ begin execute format('revoke create on database %I from rowhouse_owner', current_database()); end $$;
set local role rowhouse_owner;
alter default privileges for role rowhouse_owner revoke execute on functions from public;
grant usage on schema data to rowhouse_tenant;
grant usage, create on schema api to rowhouse_tenant;
grant usage on schema api, rowhouse to rowhouse_service;

create table rowhouse.service_migrations (
  number integer primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
);
create table rowhouse.versions (
  name text primary key,
  version bigint not null default 1
);
insert into rowhouse.versions (name) values ('catalog'), ('keys'), ('apps');
create function rowhouse.raise_version() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update rowhouse.versions set version = version + 1 where name = tg_argv[0];
  return null;
end
$$;

create table rowhouse.apps (
  id uuid primary key,
  slug text not null unique check (slug ~ '^[a-z][a-z0-9-]{0,38}[a-z0-9]$'),
  created_at timestamptz not null default now()
);
create table rowhouse.targets (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  kind text not null check (kind in ('origin', 'redirect')),
  url text not null,
  origin text not null,
  primary key (app_id, kind, url)
);
create index targets__origin__idx on rowhouse.targets (origin);
create table rowhouse.api_keys (
  key_id text primary key check (key_id ~ '^[a-z0-9]{16}$'),
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  name text not null,
  secret_hash bytea not null,
  scopes text[] not null check (scopes <@ array['data:read', 'data:write', 'schema:push']),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
create index api_keys__app_id__idx on rowhouse.api_keys (app_id);
create trigger raise_version after insert or update or delete on rowhouse.apps
  for each statement execute function rowhouse.raise_version('apps');
create trigger raise_version after insert or update or delete on rowhouse.targets
  for each statement execute function rowhouse.raise_version('apps');
create trigger raise_version after insert or update of scopes, expires_at, revoked_at or delete on rowhouse.api_keys
  for each statement execute function rowhouse.raise_version('keys');

-- What push recorded: version is the catalog's version at which the row last changed, so that processes read only news.
create table rowhouse.tables (
  name text primary key,
  owner_app_id uuid not null references rowhouse.apps (id),
  definition jsonb not null,
  version bigint not null
);
create index tables__version__idx on rowhouse.tables (version);
create table rowhouse.registrations (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  table_name text not null references rowhouse.tables (name),
  definition jsonb not null,
  version bigint not null,
  primary key (app_id, table_name)
);
create index registrations__version__idx on rowhouse.registrations (version);
create index registrations__table_name__idx on rowhouse.registrations (table_name);
create table rowhouse.migrations (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  seq integer not null,
  name text not null,
  parent text not null,
  checksum text not null,
  sql text not null,
  applied_at timestamptz not null default now(),
  primary key (app_id, seq),
  unique (app_id, parent)
);

-- First statement of a push: takes its locks without waiting and refuses a plan made on another state.
create function rowhouse.lock_push(names text[], seen bigint) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  lock_name text;
begin
  foreach lock_name in array array['catalog'] || names loop
    if not pg_try_advisory_xact_lock(hashtextextended('rowhouse push ' || lock_name, 0)) then
      raise exception 'another push is under way' using errcode = 'RH001';
    end if;
  end loop;
  if (select version from rowhouse.versions where name = 'catalog') is distinct from seen then
    raise exception 'the catalog has moved on' using errcode = 'RH002';
  end if;
end
$$;

-- A key's record for a check of it; notes its use at most once a minute.
create function rowhouse.use_key(wanted text) returns rowhouse.api_keys language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  found_key rowhouse.api_keys;
begin
  select * into found_key from rowhouse.api_keys where key_id = wanted;
  if found_key.last_used_at is null or found_key.last_used_at < now() - interval '1 minute' then
    update rowhouse.api_keys set last_used_at = now() where key_id = wanted;
  end if;
  return found_key;
end
$$;

grant execute on function rowhouse.use_key(text) to rowhouse_service;
grant select on rowhouse.service_migrations, rowhouse.versions, rowhouse.apps, rowhouse.targets, rowhouse.tables,
  rowhouse.registrations, rowhouse.migrations to rowhouse_service;
`;
