-- The audit log: append-only for every writer; only its retention deletes entries.

create function rowhouse.reject_change() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'DELETE' and current_setting('rowhouse.sweeps_audit', true) = 'on' then
    return null;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'RH012';
end
$$;

create trigger reject_change before update or delete or truncate on rowhouse.audit
  for each statement execute function rowhouse.reject_change();

-- Adds an entry to the audit log.
create function rowhouse.log(actor text, action text, person uuid default null,
  app text default null, details jsonb default '{}',
  client text default nullif(current_setting('rowhouse.client', true), '')) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into rowhouse.audit (actor, action, is_change, user_id, app, details, client)
  values (log.actor, log.action,
    coalesce((select is_change from rowhouse.audit_actions where name = log.action), false),
    person, log.app, log.details, log.client)
$$;

-- Deletes a batch of entries older than the retention; returns their number. Never deletes entries
-- younger than thirty days, regardless of the argument: a stolen login must not remove traces.
create function rowhouse.sweep_audit(keep_s integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  swept integer;
begin
  perform set_config('rowhouse.sweeps_audit', 'on', true);
  delete from rowhouse.audit where id in (
    select id from rowhouse.audit
      where at < now() - make_interval(secs => greatest(keep_s, ${MIN_AUDIT_RETENTION_S}))
    order by at limit ${SWEEP_STEP} for update skip locked);
  get diagnostics swept = row_count;
  perform set_config('rowhouse.sweeps_audit', 'off', true);
  return swept;
end
$$;
grant execute on function rowhouse.sweep_audit to rowhouse_service, rowhouse_identity;
comment on function rowhouse.sweep_audit is 'idempotent';
