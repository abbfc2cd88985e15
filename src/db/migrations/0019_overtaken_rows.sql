-- The limit of a history deletes the changes of some people and keys only. A row that someone else
-- created is then known to have changed: an undo must not delete it.
alter table rowhouse.row_changes add column is_overtaken boolean not null default false;
