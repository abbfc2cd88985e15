-- The last sign-in of each person, as far as the audit log and the sessions still have it.
-- runs: in batches
update rowhouse.users set last_sign_in_at = greatest(
  (select max(at) from rowhouse.audit where user_id = users.id and action = 'sign_in'),
  (select max(created_at) from rowhouse.sessions where user_id = users.id))
where id in (
  select id from rowhouse.users as unknown where last_sign_in_at is null
    and (exists (select from rowhouse.audit where user_id = unknown.id and action = 'sign_in')
      or exists (select from rowhouse.sessions where user_id = unknown.id))
  limit 500);
