-- Rights of the roles in the schemas; run by their owner or a superuser. Idempotent.

alter default privileges for role rowhouse_owner revoke execute on functions from public;
alter default privileges for role rowhouse_tables revoke execute on functions from public;
grant usage, create on schema data to rowhouse_tables;
grant usage, create on schema api to rowhouse_tables, rowhouse_tenant;
grant usage on schema data to rowhouse_tenant;
grant usage on schema api to rowhouse_service, rowhouse_data;
grant usage on schema rowhouse
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity,
    rowhouse_console;
