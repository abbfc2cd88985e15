#!/bin/bash
# Run once by the postgres image in an empty volume: a login for each role, and the pooler's, which may look up the
# passwords of those three and nothing else. Migrate grants each login the rights of its role.
set -euo pipefail
run() { psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --set password="$ROWHOUSE_LOGIN_PASSWORD" "$@"; }
for role in gateway data identity; do
  run --set login="rowhouse_${role}_login" <<'SQL'
create role :"login" login password :'password';
SQL
done
run <<'SQL'
create role rowhouse_pooler login password :'password';
create schema pooler;
create function pooler.find_login(name text) returns table (usename name, passwd text)
  language sql stable security definer set search_path = ''
  begin atomic
    select s.usename, s.passwd from pg_catalog.pg_shadow s
      where s.usename = name
        and s.usename in ('rowhouse_gateway_login', 'rowhouse_data_login', 'rowhouse_identity_login');
  end;
revoke all on function pooler.find_login(text) from public;
grant usage on schema pooler to rowhouse_pooler;
grant execute on function pooler.find_login(text) to rowhouse_pooler;
SQL
