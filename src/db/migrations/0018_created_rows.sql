-- The history of rows also has rows that people and administrators created, without values: only a
-- change has values before it.
alter table rowhouse.row_changes add column is_created boolean not null default false;
