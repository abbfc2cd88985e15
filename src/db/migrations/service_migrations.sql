-- The record of migrations.

create table rowhouse.service_migrations (
  number integer primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
);
grant select on rowhouse.service_migrations
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;
