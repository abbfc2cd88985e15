-- The records of applied migrations and of the code.

grant select on rowhouse.service_migrations, rowhouse.code
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;
