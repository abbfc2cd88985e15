-- The rights of rowhouse_reader, which owns the functions of the schema find: they return ids of an
-- app's rows. It reads all rows of apps' tables by their policy reader, so that PostgreSQL can use
-- every index; its functions name the app. It gets the right on a table with the policy. It may
-- also execute the immutable functions of this schema that are granted to it, which build texts.

grant usage on schema data, rowhouse to rowhouse_reader;
grant usage, create on schema find to rowhouse_reader;
grant usage on schema find to rowhouse_tenant;
