-- Keys of a person for one app, which end with the session: keys of pages, which act under the
-- rules of the app, and keys of the Console, whose scopes decide.

create table rowhouse.person_keys (
  key_id text primary key check (key_id ~ '^[a-z0-9]{16}$'),
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  session_id text not null references rowhouse.sessions (id) on delete cascade,
  person_id uuid not null references rowhouse.users (id) on delete cascade,
  -- The role on the app, and the origin of the page. A key of the Console has neither.
  role text,
  origin text,
  scopes text[] not null check (scopes <@ array['data:read', 'data:write']),
  digest bytea not null check (length(digest) = 32),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint person_keys_page_check check (num_nulls(role, origin) in (0, 2))
);
create index person_keys__app_id__idx on rowhouse.person_keys (app_id, person_id);
create index person_keys__session_id__idx on rowhouse.person_keys (session_id, app_id);
create index person_keys__person_id__idx on rowhouse.person_keys (person_id);
create index person_keys__expires_at__idx on rowhouse.person_keys (expires_at);

-- The last day, in UTC, on which a session got a key for an app: the audit log has one entry a day.
create table rowhouse.session_apps (
  session_id text not null references rowhouse.sessions (id) on delete cascade,
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  opened_on date not null,
  primary key (session_id, app_id)
);
create index session_apps__app_id__idx on rowhouse.session_apps (app_id);

-- The person and the role of a person's key, which has the bit 32 and no bit of a scope. "not
-- valid" reads no row: existing proofs are of API keys.
alter table rowhouse.proofs add column person_id uuid, add column role text;
alter table rowhouse.proofs add constraint proofs_person_check
  check (num_nulls(person_id, role) in (0, 2)) not valid;
alter table rowhouse.proofs add constraint proofs_scopes_check
  check (case when person_id is null then scopes & 32 = 0 else scopes & 63 = 32 end) not valid;

-- No one uses rowhouse.console_keys any more, except statements of the previous release that run
-- now: the next release drops it.
insert into rowhouse.person_keys (key_id, app_id, session_id, person_id, scopes, digest,
  expires_at)
select key_id, app_id, session_id, user_id, scopes, digest, console_keys.expires_at
from rowhouse.console_keys join rowhouse.sessions on sessions.id = session_id;
