-- Acts in the Console, such as pasting: what the requests of one act wrote is undone together.

-- The act of a key of the Console; null: each request is one.
alter table rowhouse.proofs add column act uuid;
-- The transaction of a change: the time of another request can be the same.
alter table rowhouse.row_changes add column request bigint;
alter table rowhouse.row_changes alter column request
  set default pg_catalog.pg_current_xact_id()::pg_catalog.text::pg_catalog.int8;
