-- Rights of the session's login; the parameter is a JSON list of the service's roles.
select pg_catalog.json_build_object(
  'login', current_user,
  'database', current_database(),
  'isSuperuser', rolsuper,
  'bypassesRls', rolbypassrls,
  'createsRoles', rolcreaterole,
  'memberOf', (select coalesce(pg_catalog.json_agg(role.rolname), '[]')
    from pg_catalog.pg_roles as role
    where role.rolname in (select pg_catalog.jsonb_array_elements_text($1::text::jsonb))
      and pg_catalog.pg_has_role(current_user, role.oid, 'member')),
  'otherRoles', (select coalesce(pg_catalog.json_agg(role.rolname order by role.rolname), '[]')
    from pg_catalog.pg_auth_members join pg_catalog.pg_roles as role on role.oid = roleid
    where member = login.oid and role.rolname not in (
      select pg_catalog.jsonb_array_elements_text($1::text::jsonb))),
  'connectionLimit', rolconnlimit,
  'tempFileLimitKb', (select setting::int8 from pg_catalog.pg_settings
    where name = 'temp_file_limit'),
  'statementTimeoutMs', (select setting::int8 from pg_catalog.pg_settings
    where name = 'statement_timeout')) as login
from pg_catalog.pg_roles as login where rolname = current_user
