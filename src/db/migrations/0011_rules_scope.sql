-- A scope of keys that can widen rules. Existing keys do not have it. "not valid" reads no row.
alter table rowhouse.api_keys drop constraint api_keys_scopes_check;
alter table rowhouse.api_keys add constraint api_keys_scopes_check check (scopes <@
  array['data:read', 'data:write', 'schema:read', 'schema:push', 'schema:drop', 'schema:rules'])
  not valid;
