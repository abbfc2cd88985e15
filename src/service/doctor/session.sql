-- Facts about the server, the database and the clock, from a session of the serving login.
select pg_catalog.json_build_object(
  'version', pg_catalog.current_setting('server_version_num')::pg_catalog.int4 / 10000,
  'login', current_user,
  'database', current_database(),
  'publicTemp', (select datacl is null or exists (select from pg_catalog.aclexplode(datacl)
      where grantee = 0 and privilege_type = 'TEMPORARY')
    from pg_catalog.pg_database where datname = current_database()),
  'logsParameters', (select pg_catalog.bool_or(name = 'log_parameter_max_length_on_error') or (
      pg_catalog.bool_or(name = 'log_parameter_max_length')
      and pg_catalog.bool_or(name like 'log_min_duration%' or name = 'log_statement'))
    from pg_catalog.pg_settings where case name
      when 'log_parameter_max_length' then setting <> '0'
      when 'log_parameter_max_length_on_error' then setting <> '0'
      when 'log_min_duration_statement' then setting <> '-1'
      when 'log_min_duration_sample' then setting <> '-1'
      when 'log_statement' then setting not in ('none', 'ddl') else false end) is true,
  'logsFailures', pg_catalog.current_setting('log_min_error_statement')
    not in ('log', 'fatal', 'panic'),
  'openFunctions', pg_catalog.array_remove(array[
    case when pg_catalog.has_function_privilege('public', 'pg_catalog.pg_advisory_lock(int8)',
      'execute') then 'locks' end,
    case when pg_catalog.has_function_privilege('public', 'pg_catalog.lo_create(oid)',
      'execute') then 'files' end], null),
  'epochMs', extract(epoch from pg_catalog.clock_timestamp()) * 1000) as session
