#!/bin/bash
# Run once by the postgres image in an empty volume: a login for each role. Migrate grants each the rights of its role.
set -euo pipefail
for role in gateway data identity; do
  psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 \
    --set login="rowhouse_${role}_login" --set password="$ROWHOUSE_LOGIN_PASSWORD" <<'SQL'
create role :"login" login password :'password';
SQL
done
