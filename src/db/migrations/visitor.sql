-- The credentials of a browser: both cookies as lists of <id>.<proof>, the idle limit of sessions
-- in seconds, and the client's address. It is the first argument of each function that verifies a
-- person itself (visitor_functions.ts).
create type rowhouse.visitor as (
  session_cookie text, identity_cookie text, idle_s integer, client_address text
);
