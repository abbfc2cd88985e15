#!/bin/bash
# Creates the administrator, and each login that has a password in the environment, with the least rights. The postgres image
# runs this script as superuser in an empty volume. Run it again after a change of a password or of the shape:
#   docker compose exec postgres /docker-entrypoint-initdb.d/init_logins.sh
# LOGIN_PASSWORD is for rowhouse_login (a single process) and for rowhouse_pooler, which can only look up passwords of the roles'
# logins. rowhouse_admin owns the database and creates the logins, and is not a superuser. Migrate grants each serving login
# the rights of its role. rowhouse_push_login creates apps' tables as rowhouse_tables, in both shapes, and is not an
# administrator. Administrators use rowhouse_console_login when they work in a browser.
set -euo pipefail

run() { psql --no-psqlrc --quiet --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 "$@"; }
# The administrator creates the roles, because only their creator can grant rights to them.
run_as_admin() { PGOPTIONS="--role=rowhouse_admin" run "$@"; }

run <<'SQL'
\getenv password ADMIN_PASSWORD
select 'create role rowhouse_admin'
  where not exists (select from pg_catalog.pg_roles where rolname = 'rowhouse_admin') \gexec
alter role rowhouse_admin login createrole password :'password';
select pg_catalog.format('alter database %I owner to rowhouse_admin', pg_catalog.current_database()) \gexec
-- Migrate then limits the temporary files of each login and keeps failing statements out of the log.
grant set on parameter temp_file_limit, log_min_error_statement to rowhouse_admin;
SQL

make_login() { # name, password, connections
  [ -n "$2" ] || return 0
  PASSWORD="$2" run_as_admin --set login="$1" --set connections="$3" <<'SQL'
\getenv password PASSWORD
select pg_catalog.format('create role %I', :'login')
  where not exists (select from pg_catalog.pg_roles where rolname = :'login') \gexec
alter role :"login" login connection limit :connections password :'password';
SQL
}

make_login rowhouse_login "${LOGIN_PASSWORD:-}" 30
make_login rowhouse_gateway_login "${GATEWAY_PASSWORD:-}" 30
make_login rowhouse_data_login "${DATA_PASSWORD:-}" 30
make_login rowhouse_identity_login "${IDENTITY_PASSWORD:-}" 30

make_login rowhouse_console_login "${CONSOLE_PASSWORD:-}" 30
make_login rowhouse_push_login "${PUSH_PASSWORD:-}" 30
run_as_admin <<'SQL'
-- Created here, so that rowhouse_tables exists for the grant below. Migrate creates missing roles, but runs later.
select pg_catalog.format('create role %I', name) from (values ('rowhouse_owner'), ('rowhouse_tables')) as wanted (name)
  where not exists (select from pg_catalog.pg_roles where rolname = name) \gexec
grant rowhouse_owner to rowhouse_admin;
SQL
if [ -n "${PUSH_PASSWORD:-}" ]; then
  run_as_admin --command "grant rowhouse_tables to rowhouse_push_login"
fi
run --file "${SUPERUSER_SQL:-/superuser.sql}"

[ -n "${GATEWAY_PASSWORD:-}" ] || exit 0
make_login rowhouse_pooler "${LOGIN_PASSWORD:-}" 5
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
