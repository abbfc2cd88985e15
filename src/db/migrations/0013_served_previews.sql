-- What each process serves, so that a switch of an app without a process that serves it is noticed.

-- Null: the process does not say so.
alter table rowhouse.processes add column previews text[];
