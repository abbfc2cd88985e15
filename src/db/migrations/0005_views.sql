-- The views of apps with rules. A view is the rights of roles with the same rights on a table. It
-- has its own functions, named by its hash. Its definition is enough to generate them again.
create table rowhouse.views (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  table_name text not null references rowhouse.tables (name),
  hash text not null check (hash ~ '^[0-9a-f]{16}$'),
  definition jsonb not null,
  primary key (app_id, table_name, hash)
);
create index views__table_name__idx on rowhouse.views (table_name);
