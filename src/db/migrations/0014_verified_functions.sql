-- Digests of column sets with their functions, as a release generates them. Only an administrator
-- writes them, like the release. The functions of these sets are not generated again.
create table rowhouse.verified_sets (
  digest text primary key
);

-- Digests of the bodies of functions, by the versions of their rows.
create table rowhouse.body_digests (
  oid oid primary key,
  mark text not null,
  digest text not null,
  read_at timestamptz not null
);
create index body_digests_read_at_idx on rowhouse.body_digests (read_at);

-- The next check reads all bodies.
update rowhouse.isolation_checks set marks = '';
