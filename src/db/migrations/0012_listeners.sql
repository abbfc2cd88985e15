-- Triggers record the changes of rows.

-- Has the triggers of tables that listening apps use, and no rows: one form to copy and compare.
create table rowhouse.listened (
  app_id uuid not null,
  id uuid not null
);
-- Whether a reference changed or deleted the row, because the request deleted another row.
alter table rowhouse.row_changes add column is_caused boolean not null default false;

-- Where processes of 0.1 did not record the history of rows, because its preview was off, it is off
-- now: values are stored by a decision only. What was stored before stays for its days.
do $$
declare
  app record;
begin
  for app in select id, slug from rowhouse.apps where 'history' = any (switches)
    and not exists (select from rowhouse.release where 'history' = any (features))
  loop
    perform pg_catalog.set_config('rowhouse.app_id', app.id::pg_catalog.text, true);
    update rowhouse.apps set switches = pg_catalog.array_remove(switches, 'history')
      where id = app.id;
    update rowhouse.proofs set scopes = scopes & ~256 where app_id = app.id;
    insert into rowhouse.audit (actor, action, is_change, app)
      values ('operator', 'set_history_off', false, app.slug);
  end loop;
  perform pg_catalog.set_config('rowhouse.app_id', '', true);
end
$$;
