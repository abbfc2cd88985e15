-- The release whose code the database has: functions, triggers, policies and rights.

-- "digest" covers the whole code. Releases from "compatible_from" on may still serve, if they know
-- the tables up to the number "compatible_tables". Without a row, the code is older than the table.
create table rowhouse.code (
  is_only boolean primary key default true check (is_only),
  digest text not null,
  version text not null,
  tables integer not null,
  compatible_from text not null,
  compatible_tables integer not null,
  renewed_at timestamptz not null default now()
);
