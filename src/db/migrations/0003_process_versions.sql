-- The version of each process, as "rowhouse --version" prints it. Null for versions before this
-- column, which do not report it. Administrators copy the text: it cannot contain a command.
alter table rowhouse.processes add column version text
  check (version ~ '^[0-9A-Za-z.+-]{1,40} \(tables [0-9]{1,4}, code [0-9a-f]{1,64}\)$');
