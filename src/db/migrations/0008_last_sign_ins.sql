-- Facts about people that must outlast the sessions and the audit log, which are deleted: when a
-- person last signed in, and who saw the secret of a key.
alter table rowhouse.users add column last_sign_in_at timestamptz;
-- The actor in the audit log.
alter table rowhouse.api_keys add column issued_by text;
create index api_keys__issued_by__idx on rowhouse.api_keys (issued_by);
update rowhouse.api_keys set issued_by = actor
from (select actor, details ->> case action when 'issue_key' then 'keyId' else 'newKeyId' end
  from rowhouse.audit where action in ('issue_key', 'roll_key')) as issued (actor, key_id)
where issued.key_id = api_keys.key_id;
