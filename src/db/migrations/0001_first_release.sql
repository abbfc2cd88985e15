-- The tables of the first release. Frozen: a table changes by a file with the next number.

-- The schemas. All objects of this and the following files belong to rowhouse_owner.

do $$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
     and not pg_has_role(current_user, 'rowhouse_owner', 'usage') then
    execute format('grant rowhouse_owner to %I', current_user);
  end if;
  -- PostgreSQL searches a temporary schema first: a hostile type there would run inside the
  -- functions as their owner.
  execute format('revoke temporary on database %I from public', current_database());
  execute format('grant create on database %I to rowhouse_owner', current_database());
end
$$;

create schema rowhouse authorization rowhouse_owner;
create schema data authorization rowhouse_owner;
create schema api authorization rowhouse_owner;
do $$ begin
  execute format('revoke create on database %I from rowhouse_owner', current_database());
end $$;

set local role rowhouse_owner;

create table rowhouse.service_migrations (
  number integer primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
);

-- The credentials of a browser: both cookies as lists of <id>.<proof>, the idle limit of sessions
-- in seconds, and the client's address. It is the first argument of each function that verifies a
-- person itself.
create type rowhouse.visitor as (
  session_cookie text, identity_cookie text, idle_s integer, client_address text
);

create table rowhouse.versions (
  name text primary key,
  version bigint not null default 1
);
insert into rowhouse.versions (name) values ('catalog'), ('keys'), ('apps');

-- The settings of an app that are on or off, filled from its declarations. The proofs of the app's
-- keys have the bits of those that are on.
create table rowhouse.app_switches (
  name text primary key,
  proof_bit smallint not null,
  -- Without this preview, or on a cluster, the setting cannot be turned on.
  preview text,
  is_for_clusters boolean not null,
  -- While it is on, no write and no push of the app commits.
  stops_writes boolean not null
);

-- A null limit means the service's default. A disabled app keeps its rows and keys, but its keys
-- do not authenticate.
create table rowhouse.apps (
  id uuid primary key,
  slug text not null unique check (slug ~ '^[a-z][a-z0-9-]{0,38}[a-z0-9]$'),
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  -- The settings that are on, except "disabled".
  switches text[] not null default '{}',
  requests_per_minute integer check (requests_per_minute > 0),
  key_requests_per_minute integer check (key_requests_per_minute > 0)
);

create table rowhouse.targets (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  kind text not null check (kind in ('origin', 'redirect')),
  url text not null,
  origin text not null,
  primary key (app_id, kind, url)
);
create index targets__origin__idx on rowhouse.targets (origin);

-- Serving logins cannot read keys: rowhouse.use_key() returns one key to callers with its proof.
create table rowhouse.api_keys (
  key_id text primary key check (key_id ~ '^[a-z0-9]{16}$'),
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  name text not null,
  digest bytea not null check (length(digest) = 32),
  scopes text[] not null check (scopes <@
    array['data:read', 'data:write', 'schema:read', 'schema:push', 'schema:drop']),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- The key that replaced it in a rotation.
  replaced_by text
);
create index api_keys__app_id__idx on rowhouse.api_keys (app_id);
-- For rowhouse.dev_leftovers(), which every visit of the Console's Home calls.
create index api_keys__app_id__dev__idx on rowhouse.api_keys (app_id) where name = 'rowhouse dev';

-- Scopes are bits: 1 data:read, 2 data:write, 4 schema:push, 8 schema:read, 16 schema:drop. From 32
-- on: settings of the app that the functions of tables read, such as 64 for live updates.
create table rowhouse.proofs (
  app_id uuid not null,
  digest bytea not null check (length(digest) = 32),
  scopes smallint not null,
  expires_at timestamptz not null default 'infinity',
  -- The tables that the app no longer uses, for processes that do not know it yet; usually null.
  ended text[],
  primary key (app_id, digest)
);
alter table rowhouse.proofs enable row level security;
alter table rowhouse.proofs force row level security;

-- The secret that is mixed into tags of pages, so that a tag reveals nothing about its input. The
-- only row is read by its key: if scans are disabled, PostgreSQL before 18 estimates a table scan
-- as so expensive that it compiles the query in each call.
create table rowhouse.tag_seed (is_only boolean primary key default true check (is_only),
  value bytea not null);
insert into rowhouse.tag_seed (value) values (uuid_send(gen_random_uuid()));

create table rowhouse.idempotency_keys (
  app_id uuid not null,
  key bytea not null check (length(key) = 32),
  request bytea not null check (length(request) = 32),
  created_at timestamptz not null default now(),
  is_whole boolean not null,
  response text,
  primary key (app_id, key)
);
alter table rowhouse.idempotency_keys enable row level security;
alter table rowhouse.idempotency_keys force row level security;
create index on rowhouse.idempotency_keys (app_id, created_at);

create table rowhouse.users (
  id uuid primary key,
  email text not null unique
    check (email = lower(email) and length(email) between 3 and 254),
  -- Covers the address and the person, like the digest of a session. Without it, the address gets
  -- no links and cannot link a provider account.
  email_digest bytea check (length(email_digest) = 32),
  email_secret_id text,
  display_name text check (length(display_name) between 1 and 200),
  avatar_url text check (length(avatar_url) <= 2048),
  console_role text check (console_role in ('admin', 'super_admin')),
  password_hash text,
  password_digest bytea,
  password_secret_id text,
  disabled_at timestamptz,
  -- Since when the person has been asked to add a second factor.
  factor_asked_at timestamptz,
  created_at timestamptz not null default now(),
  check (num_nulls(password_hash, password_digest, password_secret_id) in (0, 3)),
  check (num_nulls(email_digest, email_secret_id) in (0, 2))
);

-- For rowhouse.dev_leftovers(), which every visit of the Console's Home calls.
create index users__email__localhost__idx on rowhouse.users (email) where email ~ '[@.]localhost$';

-- A role from a provider's claim has the provider's name, and a digest like a session: the login
-- that applies claims cannot grant a role without the secret. A role that a person granted has
-- neither.
create table rowhouse.grants (
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  role text not null check (role ~ '^[a-z][a-z0-9_-]{0,31}$' and role <> 'super_admin'),
  granted_at timestamptz not null default now(),
  provider text check (length(provider) between 1 and 40),
  digest bytea check (length(digest) = 32),
  secret_id text,
  primary key (user_id, app_id),
  check (num_nulls(provider, digest, secret_id) in (0, 3))
);
create index grants__app_id__user_id__idx on rowhouse.grants (app_id, user_id);

-- session_digest is for the cookie that all hosts of the domain receive, identity_digest for the
-- cookie of the pages. Both are sha256(proof || uuid_send(user_id)): a row with another person's
-- id matches no session. Device and address are recorded at the sign-in, so that the person can
-- recognize the session.
create table rowhouse.sessions (
  id text primary key check (id ~ '^[a-z0-9]{16}$'),
  session_digest bytea not null check (length(session_digest) = 32),
  identity_digest bytea not null check (length(identity_digest) = 32),
  secret_id text not null,
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  device text check (length(device) <= 80),
  address text check (length(address) <= 64),
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  -- When the person last authenticated: now, for a password; for a provider the time that it
  -- reports, which can be long ago.
  proven_at timestamptz not null default now(),
  -- When the person last authenticated with a second factor too.
  second_factor_at timestamptz,
  expires_at timestamptz not null
);
create index sessions__user_id__idx on rowhouse.sessions (user_id);
create index sessions__expires_at__idx on rowhouse.sessions (expires_at);

-- When two live sessions were last presented together: at most one audit log entry per hour. No
-- foreign keys, which a concurrent sign-out would violate.
create table rowhouse.session_conflicts (
  first_id text not null,
  second_id text not null,
  recorded_at timestamptz not null default now(),
  primary key (first_id, second_id)
);
create index session_conflicts__recorded_at__idx on rowhouse.session_conflicts (recorded_at);

-- One link per person: a new link replaces the previous link.
create table rowhouse.password_links (
  user_id uuid primary key references rowhouse.users (id) on delete cascade,
  id text not null unique check (id ~ '^[a-z0-9]{16}$'),
  digest bytea not null check (length(digest) = 32),
  secret_id text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- The app, by slug, and the address where the person continues. Both are checked again when the
  -- link is used: the app can be deleted or move.
  return_app text,
  return_to text check (length(return_to) <= 2048),
  check (num_nulls(return_app, return_to) in (0, 2))
);

-- Invited people who cannot sign in yet. An invitation can be accepted while the person's link is
-- valid, and ends then.
create table rowhouse.invitations (
  user_id uuid primary key references rowhouse.users (id) on delete cascade,
  -- The actor in the audit log.
  invited_by text not null,
  invited_at timestamptz not null default now(),
  -- When the mail with the current link was sent.
  mailed_at timestamptz
);

-- Filled from the declared actions. "is_change": the action can make requests fail that succeeded
-- before.
create table rowhouse.audit_actions (name text primary key, is_change boolean not null);

-- An entry outlives its subjects, so they have no foreign keys.
create table rowhouse.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null references rowhouse.audit_actions,
  is_change boolean not null default false,
  user_id uuid,
  app text,
  details jsonb not null default '{}',
  -- The address of the browser's user, set for the rest of the statement by the function that
  -- verifies the browser's cookies.
  client text default nullif(current_setting('rowhouse.client', true), '')
);
create index audit__user_id__id__idx on rowhouse.audit (user_id, id);
create index audit__at__idx on rowhouse.audit (at);
create index audit__changes__id__idx on rowhouse.audit (id) where is_change;
create index audit__changes__app__id__idx on rowhouse.audit (app, id) where is_change;

create table rowhouse.mails (
  id bigint generated always as identity primary key,
  template text not null,
  -- Null for an unknown address: a form whose response hides whether an address is known also
  -- needs the same time.
  user_id uuid references rowhouse.users (id) on delete cascade,
  link_id text,
  details jsonb not null default '{}',
  created_at timestamptz not null default now(),
  tries integer not null default 0,
  next_try_at timestamptz not null default now(),
  sent_at timestamptz,
  given_up_at timestamptz
);
create index mails__next_try_at__idx on rowhouse.mails (next_try_at)
  where sent_at is null and given_up_at is null;
create index mails__user_id__idx on rowhouse.mails (user_id, template, created_at);

-- One row: when a process that sends mail was last active.
create table rowhouse.mail_sender (
  is_only boolean primary key default true check (is_only),
  seen_at timestamptz not null
);

-- One row, locked by each action that changes who is a super_admin: two super_admins who remove
-- each other concurrently would both still see the other. Any login can acquire an advisory lock,
-- but only these functions can lock this row.
create table rowhouse.account_actions (
  is_only boolean primary key default true check (is_only)
);
insert into rowhouse.account_actions default values;

-- Keys are digests: the text in a sign-in form is not stored.
create table rowhouse.throttle (
  key text primary key,
  attempts integer not null,
  ends_at timestamptz not null
);
create index throttle__ends_at__idx on rowhouse.throttle (ends_at);

-- Attempts at a person's password since the last correct one, for administrators: one row per
-- person, so that attempts cannot fill the disk. An attempt counts until it is verified as
-- correct.
create table rowhouse.failed_sign_ins (
  user_id uuid primary key references rowhouse.users (id) on delete cascade,
  attempts integer not null,
  last_at timestamptz not null,
  last_from text check (length(last_from) <= 64)
);

-- Checks of texts, which the code replaces.
create function rowhouse.is_counted(table_name text, code text) returns boolean
  language sql immutable set search_path = pg_catalog, pg_temp as $$
  select (table_name = '' or table_name ~ '^[a-z][a-z0-9_]{0,47}$') is not false
    and code ~ '^[a-z0-9_]{1,60}$' is not false
$$;
create function rowhouse.is_request(method text, route text, paths text[]) returns boolean
  language sql immutable set search_path = pg_catalog, pg_temp as $$
  select method ~ '^[A-Z]{1,20}$' and route ~ '^(none|/[A-Za-z0-9:/._-]{0,199})$'
    and not exists (select from unnest(paths) as path
      where path ~ '^(/[0-9]{1,3})?/[A-Za-z_][A-Za-z0-9_]{0,62}$' is not true)
$$;

-- Minutes are stored for a day, hours for 15 days: a week and the week before. The app id of zeros
-- is the total of all requests; ...1 is requests without an app, such as pages, and requests before
-- or without a valid key; ...2 is requests of the Console.
create table rowhouse.statistics (
  app_id uuid not null,
  span text not null check (span in ('minute', 'hour')),
  at timestamptz not null,
  requests bigint not null check (requests >= 0),
  errors bigint not null check (errors >= 0),
  rejections bigint not null check (rejections >= 0),
  latencies bigint[] not null check (cardinality(latencies) = 12),
  primary key (app_id, span, at)
);
create index statistics__span__at__idx on rowhouse.statistics (span, at);

-- Processes, with the last minute that each has added and its guard's result at that time.
create table rowhouse.processes (
  id uuid primary key,
  role text not null check (role ~ '^[a-z]{1,20}$'),
  started_at timestamptz not null,
  minute timestamptz not null,
  seen_at timestamptz not null default now(),
  ended_at timestamptz,
  isolation_at timestamptz,
  isolation_issues text[] not null default '{}'
);

-- Counts of rejections, by table and code, stored as long as the counts above. The app id of
-- zeros is requests without an app, an empty table is requests without a table. Counts over the
-- limit of an app have the code "other".
create table rowhouse.rejections (
  app_id uuid not null,
  span text not null check (span in ('minute', 'hour')),
  at timestamptz not null,
  table_name text not null,
  code text not null,
  requests bigint not null check (requests >= 0),
  check (rowhouse.is_counted(table_name, code)),
  primary key (app_id, span, at, table_name, code)
);
create index rejections__span__at__idx on rowhouse.rejections (span, at);

-- The counted tables and codes of each app: at most 200. An unused entry is replaced by another
-- after the retention of the counts.
create table rowhouse.rejection_kinds (
  app_id uuid not null,
  table_name text not null,
  code text not null,
  used_at timestamptz not null,
  primary key (app_id, table_name, code)
);
create index rejection_kinds__used_at__idx on rowhouse.rejection_kinds (used_at);

-- Failed, slow and rejected requests, by the id that the caller got. Failed and slow requests are
-- stored for a day, rejected requests for a week, at most 1,000 per app. A path contains only
-- declared columns, and positions in a batch.
create table rowhouse.stored_requests (
  id uuid primary key,
  app_id uuid,
  at timestamptz not null,
  method text not null,
  route text not null,
  status integer not null,
  code text,
  -- As isRejected() in problem.ts; any other response from 400 is a failure.
  is_rejected boolean not null generated always as (status >= 400
    and (status < 500 or coalesce(code in ('not_implemented', 'read_only'), false))) stored,
  ms integer not null,
  -- The presented key. Without a valid secret, it does not prove who sent the request.
  key_id text check (length(key_id) <= 16),
  table_name text,
  paths text[] not null default '{}' check (cardinality(paths) <= 20),
  -- This request, and equal requests of the same minute that were not stored.
  requests integer not null default 1 check (requests > 0),
  -- The Console sent it for its pages of rows.
  of_console boolean not null default false,
  check (rowhouse.is_request(method, route, paths) and rowhouse.is_counted(table_name, code))
);
create index stored_requests__app_id__at__idx on rowhouse.stored_requests (app_id, at);
-- For searches by the reference that an error page shows: the end of the id.
create index stored_requests__reference__idx on rowhouse.stored_requests (right(id::text, 12));
create index stored_requests__at__idx on rowhouse.stored_requests (at);
-- For the sweep, and for the list of failures.
create index stored_requests__failed__at__idx on rowhouse.stored_requests (at)
  where not is_rejected;

-- The ids of requests that are counted in the entry of an equal request, so that each of these ids
-- leads to the entry. Deleted with it.
create table rowhouse.merged_requests (
  id uuid primary key,
  stored_id uuid not null references rowhouse.stored_requests (id) on delete cascade
);
create index merged_requests__stored_id__idx on rowhouse.merged_requests (stored_id);
create index merged_requests__reference__idx on rowhouse.merged_requests (right(id::text, 12));

create unlogged table rowhouse.nonces (
  nonce uuid primary key,
  used_at timestamptz not null default now()
);
create index nonces__used_at__idx on rowhouse.nonces (used_at);

create unlogged table rowhouse.buckets (
  name text primary key check (length(name) <= 80),
  per_minute double precision not null,
  tokens double precision not null,
  counted_at timestamptz not null
) with (fillfactor = 50);

-- An expired lease holds nothing, even if its process still runs.
create unlogged table rowhouse.leases (
  name text not null,
  process uuid not null,
  tokens double precision not null,
  wanted double precision not null,
  ends_at timestamptz not null,
  primary key (name, process)
) with (fillfactor = 50);

-- "last_step" is the time step of the last used code: codes of this step or earlier are invalid.
create table rowhouse.totp_factors (
  user_id uuid primary key references rowhouse.users (id) on delete cascade,
  sealed_secret bytea not null check (length(sealed_secret) between 29 and 200),
  digest bytea not null check (length(digest) = 32),
  secret_id text not null,
  confirmed_at timestamptz not null default now(),
  last_step bigint not null
);

-- Each code is used once: its use deletes it.
create table rowhouse.recovery_codes (
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  digest bytea not null check (length(digest) = 32),
  secret_id text not null,
  created_at timestamptz not null default now(),
  primary key (user_id, digest)
);

create table rowhouse.passkeys (
  credential_id bytea primary key check (length(credential_id) between 1 and 1023),
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  public_key bytea not null check (length(public_key) <= 2048),
  sign_count bigint not null default 0,
  transports text[] not null default '{}',
  label text not null check (length(label) between 1 and 80),
  backed_up boolean not null default false,
  digest bytea not null check (length(digest) = 32),
  secret_id text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index passkeys__user_id__idx on rowhouse.passkeys (user_id);

-- The browser's previous sessions are not stored here: the browser presents them again.
create table rowhouse.pending_sign_ins (
  id text primary key check (id ~ '^[a-z0-9]{16}$'),
  digest bytea not null check (length(digest) = 32),
  secret_id text not null,
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  -- The provider's name; null for a password.
  provider text,
  -- When the person proved the password or the provider sign-in.
  proven_at timestamptz not null,
  expires_at timestamptz not null
);
create index pending_sign_ins__user_id__idx on rowhouse.pending_sign_ins (user_id, expires_at);
create index pending_sign_ins__expires_at__idx on rowhouse.pending_sign_ins (expires_at);

create table rowhouse.provider_links (
  issuer text not null check (length(issuer) between 1 and 2048),
  subject text not null check (length(subject) between 1 and 255),
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  digest bytea not null check (length(digest) = 32),
  secret_id text not null,
  linked_at timestamptz not null default now(),
  primary key (issuer, subject),
  unique (user_id, issuer)
);

create table rowhouse.tables (
  name text primary key check (name ~ '^[a-z][a-z0-9_]{0,47}$'),
  owner_app_id uuid not null references rowhouse.apps (id),
  definition jsonb not null,
  version bigint not null,
  created_at timestamptz not null default now()
);
create index tables__version__idx on rowhouse.tables (version);

create table rowhouse.registrations (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  table_name text not null references rowhouse.tables (name),
  definition jsonb not null,
  version bigint not null,
  -- Its rows are being deleted: the app is not served the table, and cannot push until then.
  is_ending boolean not null default false,
  primary key (app_id, table_name)
);
create index registrations__version__idx on rowhouse.registrations (version);
create index registrations__table_name__idx on rowhouse.registrations (table_name);

-- The column sets of a table that each app uses, and used until recently: each column set has its
-- own functions, named by its hash, which apps with the same column set share. Processes that are
-- being replaced still call a column set that its app no longer uses.
create table rowhouse.column_sets (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  table_name text not null references rowhouse.tables (name),
  hash text not null check (hash ~ '^[0-9a-f]{16}$'),
  definition jsonb not null,
  unused_since timestamptz,
  primary key (app_id, table_name, hash)
);
create index column_sets__table_name__hash__idx on rowhouse.column_sets (table_name, hash);

create table rowhouse.migrations (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  seq integer not null,
  name text not null,
  parent text not null,
  checksum text not null,
  -- The project's file, equal at every service, and the statements that ran at this service.
  text text not null,
  sql text not null,
  -- For diverged histories: the project's migrations that this migration joins, with their texts.
  -- They count as applied from here on, instead of the recorded migrations with their numbers.
  joins jsonb check (joins is null or jsonb_typeof(joins -> 0) is not distinct from 'object'),
  -- The pushing key, as the pushing login reports it; null for an operator.
  key_id text,
  applied_at timestamptz not null default now(),
  primary key (app_id, seq),
  unique (app_id, parent)
);

-- Builds that would lock a large table for too long. A lease prevents two processes from running
-- one step; a step is resumed after its holder has died.
create table rowhouse.deferred_steps (
  id bigint generated always as identity primary key,
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  table_name text not null references rowhouse.tables (name),
  kind text not null check (kind in ('index', 'reference')),
  name text not null,
  columns jsonb not null,
  state text not null default 'waiting' check (state in ('waiting', 'running', 'done', 'failed')),
  issue text,
  -- The progress of an index build, recorded by its builder: PostgreSQL shows it to no other
  -- login.
  progress jsonb,
  attempts integer not null default 0,
  lease_until timestamptz not null default '-infinity',
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (table_name, name)
);

-- The remaining pushes of an app, at the time of the last push. A push that applies several of the
-- project's migrations needs as many requests but counts once: each applied migration leaves some
-- uncounted requests, in case the next must be repeated.
create table rowhouse.push_allowances (
  app_id uuid primary key references rowhouse.apps (id) on delete cascade,
  pushes double precision not null,
  counted_at timestamptz not null,
  uncounted integer not null default 0
);

-- The release that generated the functions of apps' tables, with its preview features. Only an
-- administrator writes it. The name is null while `rowhouse migrate` renews functions.
create table rowhouse.release (
  is_only boolean primary key default true check (is_only),
  name text,
  features text[] not null default '{}',
  recorded_at timestamptz not null default now()
);
insert into rowhouse.release default values;

create table rowhouse.isolation_checks (
  is_only boolean primary key default true check (is_only),
  checked_at timestamptz not null default 'epoch',
  catalog_version bigint not null default 0,
  issues jsonb not null default '[]',
  bodies text not null default '',
  -- The versions of the functions' rows that "bodies" covers.
  marks text not null default ''
);
insert into rowhouse.isolation_checks default values;

-- Jobs that delete an app's rows, each once. Stored when the end of a registration begins, and
-- when an app is deleted.
create table rowhouse.row_jobs (
  id uuid primary key default gen_random_uuid(),
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  tables text[] not null,
  kind text not null check (kind in ('end_registration', 'delete_app')),
  actor text not null,
  -- The deleted rows so far, in the order of the tables.
  counts bigint[] not null,
  is_emptied boolean not null default false,
  -- The transactions of serving processes when the job was first run: they can still store rows.
  earlier text[],
  created_at timestamptz not null default now(),
  -- When the registrations ended.
  ended_at timestamptz,
  unique (app_id, tables, kind)
);

-- Ended uses, with their version of the catalog: processes learn of them as they learn of
-- registrations.
create table rowhouse.ended_registrations (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  table_name text not null,
  version bigint not null,
  primary key (app_id, table_name)
);
create index ended_registrations__version__idx on rowhouse.ended_registrations (version);

-- Columns that are being retyped: a copy of the column, named `$to`, is filled in batches and then
-- replaces it. "after": the last copied row. "horizon": rows that have not changed since this
-- transaction are copied; null until all rows are copied.
create table rowhouse.retypes (
  table_name text primary key references rowhouse.tables (name) on delete cascade,
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  change jsonb not null,
  after uuid,
  horizon xid8,
  created_at timestamptz not null default now()
);

create table rowhouse.changes (
  app_id uuid not null,
  -- Empty: all tables of the app.
  table_name text not null,
  -- Null: any rows of the table.
  row_id uuid,
  xid xid8 not null default pg_current_xact_id()
);
create index changes__app_id__xid__idx on rowhouse.changes (app_id, xid);
alter table rowhouse.changes enable row level security;
alter table rowhouse.changes force row level security;

-- The database can continue a cursor with this name, if the cursor is not older than the floor. The
-- next floor replaces the floor after a retention period.
create table rowhouse.change_feed (
  is_only boolean primary key default true check (is_only),
  name text not null default substr(md5(gen_random_uuid()::text), 1, 8),
  floor xid8 not null default pg_snapshot_xmin(pg_current_snapshot()),
  next_floor xid8 not null default pg_snapshot_xmin(pg_current_snapshot()),
  floor_at timestamptz not null default now(),
  -- Where the sweep continues.
  swept_app uuid,
  -- The keys for cursors are derived from it.
  secret bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
);
insert into rowhouse.change_feed default values;

create index migrations__applied_at__idx on rowhouse.migrations (applied_at);
create index api_keys__expires_at__idx on rowhouse.api_keys (expires_at);

create index audit__app__id__idx on rowhouse.audit (app, id);
create index audit__actor__id__idx on rowhouse.audit (actor, id);
create index audit__action__id__idx on rowhouse.audit (action, id);

create table rowhouse.console_keys (
  key_id text primary key check (key_id ~ '^[a-z0-9]{16}$'),
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  session_id text not null references rowhouse.sessions (id) on delete cascade,
  digest bytea not null check (length(digest) = 32),
  scopes text[] not null check (scopes <@ array['data:read', 'data:write']),
  expires_at timestamptz not null
);
create index console_keys__app_id__idx on rowhouse.console_keys (app_id);
create index console_keys__session_id__idx on rowhouse.console_keys (session_id);
create index console_keys__expires_at__idx on rowhouse.console_keys (expires_at);
