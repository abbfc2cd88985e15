#!/bin/bash
# Creates the logins, with the least rights, that have a password in the environment. The postgres image runs it in an
# empty volume; run it again after a password was changed or the other shape was chosen:
#   docker compose exec postgres /docker-entrypoint-initdb.d/init_logins.sh
# LOGIN_PASSWORD is that of rowhouse_login (one process) and of rowhouse_pooler, which may look up the passwords of the
# roles' logins and nothing else. Migrate grants each login that serves the rights of its role. rowhouse_push_login makes
# apps' tables as rowhouse_tables, in both shapes, and is no administrator. rowhouse_console_login is that on which
# administrators act from a browser.
set -euo pipefail

run() { psql --no-psqlrc --quiet --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 "$@"; }

make_login() { # name, password
  [ -n "$2" ] || return 0
  PASSWORD="$2" run --set login="$1" <<'SQL'
\getenv password PASSWORD
select pg_catalog.format('create role %I', :'login')
  where not exists (select from pg_catalog.pg_roles where rolname = :'login') \gexec
alter role :"login" login password :'password';
SQL
}

make_login rowhouse_login "${LOGIN_PASSWORD:-}"
make_login rowhouse_gateway_login "${GATEWAY_PASSWORD:-}"
make_login rowhouse_data_login "${DATA_PASSWORD:-}"
make_login rowhouse_identity_login "${IDENTITY_PASSWORD:-}"

make_login rowhouse_console_login "${CONSOLE_PASSWORD:-}"
make_login rowhouse_push_login "${PUSH_PASSWORD:-}"
if [ -n "${PUSH_PASSWORD:-}" ]; then
  # Migrate would make rowhouse_tables otherwise.
  run <<'SQL'
select 'create role rowhouse_tables'
  where not exists (select from pg_catalog.pg_roles where rolname = 'rowhouse_tables') \gexec
grant rowhouse_tables to rowhouse_push_login;
SQL
fi

[ -n "${GATEWAY_PASSWORD:-}" ] || exit 0
make_login rowhouse_pooler "${LOGIN_PASSWORD:-}"
run <<'SQL'
create schema if not exists pooler;
create or replace function pooler.find_login(name text) returns table (usename name, passwd text)
  language sql stable security definer set search_path = ''
  begin atomic
    select s.usename, s.passwd from pg_catalog.pg_shadow s
      where s.usename = name
        and s.usename in ('rowhouse_gateway_login', 'rowhouse_data_login', 'rowhouse_identity_login',
          'rowhouse_console_login');
  end;
revoke all on function pooler.find_login(text) from public;
grant usage on schema pooler to rowhouse_pooler;
grant execute on function pooler.find_login(text) to rowhouse_pooler;
SQL
