#!/bin/bash
# Run once by the postgres image in an empty volume: the login of least rights that serves. Migrate grants it the rest.
set -euo pipefail
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 \
  --set login="$ROWHOUSE_LOGIN" --set password="$ROWHOUSE_LOGIN_PASSWORD" <<'SQL'
create role :"login" login password :'password';
SQL
