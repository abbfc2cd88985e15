/**
 * Apps: their origins and redirect targets, their request limits, and the versions by which a process notices that
 * something in its memory has changed. Triggers raise the rows of `versions`, so that no writer can forget to.
 *
 * @module
 */
import { SLUG_PATTERN } from "../../std/stored_text.ts";

export const APPS = `
create table rowhouse.versions (
  name text primary key,
  version bigint not null default 1
);
insert into rowhouse.versions (name) values ('catalog'), ('keys'), ('apps');
grant select on rowhouse.versions to rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;
create function rowhouse.raise_version() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update rowhouse.versions set version = version + 1 where name = tg_argv[0];
  return null;
end
$$;

-- A limit that is null is the service's own.
create table rowhouse.apps (
  id uuid primary key,
  slug text not null unique check (slug ~ '${SLUG_PATTERN}'),
  created_at timestamptz not null default now(),
  requests_per_minute integer check (requests_per_minute > 0),
  key_requests_per_minute integer check (key_requests_per_minute > 0)
);
create trigger raise_version after insert or update or delete on rowhouse.apps
  for each statement execute function rowhouse.raise_version('apps');
grant select on rowhouse.apps to rowhouse_service, rowhouse_gateway, rowhouse_identity;
grant select (id, slug) on rowhouse.apps to rowhouse_tables;

create table rowhouse.targets (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  kind text not null check (kind in ('origin', 'redirect')),
  url text not null,
  origin text not null,
  primary key (app_id, kind, url)
);
create index targets__origin__idx on rowhouse.targets (origin);
create trigger raise_version after insert or update or delete on rowhouse.targets
  for each statement execute function rowhouse.raise_version('apps');
grant select on rowhouse.targets to rowhouse_service, rowhouse_gateway, rowhouse_identity;
`;
