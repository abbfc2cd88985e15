-- Triggers record the changes of rows.

-- Has the triggers of tables that listening apps use, and no rows: one form to copy and compare.
create table rowhouse.listened (
  app_id uuid not null,
  id uuid not null
);
-- Whether a reference changed or deleted the row, because the request deleted another row.
alter table rowhouse.row_changes add column is_caused boolean not null default false;
