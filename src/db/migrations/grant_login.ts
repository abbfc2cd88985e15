/**
 * What logins are made members of: a serving login of the group of its role, a pushing login of the owner of tables, the
 * Console's of what may act for administrators.
 *
 * @module
 */
import type { Role } from "../../role.ts";
import { runOnNodes } from "../citus/check_nodes.ts";
import { SERVING_ROLES } from "../isolation.ts";
import { quoteLiteral, quoteName } from "../literal.ts";
import { type Database, EXECUTION_LIMIT_MS } from "../pool/mod.ts";
import { readRows } from "../read_rows.ts";
import { MIGRATE_LOCK } from "./lock.ts";
import { ROLE_NAMES } from "./roles.ts";

/**
 * Keeps statements that fail out of the server's log: Citus sends calls to other nodes with their values, so a rejected
 * write would be logged with its row and the proof of its key. Only a superuser can set this; without one the doctor warns.
 */
export const QUIET_LOGINS = `declare
  login name;
begin
  if not pg_catalog.has_parameter_privilege('log_min_error_statement', 'set') then
    return;
  end if;
  for login in
    select distinct logins.rolname from pg_catalog.pg_roles as logins
    join pg_catalog.pg_auth_members on member = logins.oid
    join pg_catalog.pg_roles as parents on parents.oid = roleid
    where parents.rolname = any (array[${ROLE_NAMES.map(quoteLiteral).join(", ")}])
      and logins.rolcanlogin and not logins.rolsuper
    union
    select rolname from pg_catalog.pg_roles
    where rolname = any (array[${ROLE_NAMES.map(quoteLiteral).join(", ")}]) and rolcanlogin
  loop
    execute pg_catalog.format('alter role %I in database %I set log_min_error_statement = %L',
      login, pg_catalog.current_database(), 'panic');
  end loop;
end`;

/** The same for every login of the service at once; on the nodes of a distributed database, too. */
export async function quietLogins(
  admin: Database,
  { isDistributed }: { isDistributed: boolean },
): Promise<void> {
  await admin.message(`
do $rowhouse$ begin perform ${MIGRATE_LOCK}; end $rowhouse$;
do $rowhouse$ ${QUIET_LOGINS} $rowhouse$;
select 1`);
  if (isDistributed) await runOnNodes(admin, `${QUIET_LOGINS};`);
}

export class GrantLoginError extends Error {}

/** Of temporary files for each session of a login that owns no table: its statements sort a page of rows at most. */
const TEMP_FILE_LIMIT = "256MB";

/**
 * Lets the login of `databaseUrl` serve in a role, with the least rights for it: those of everything but identity, if
 * identity has a login of its own. If it is the administrator's own login, nothing changes.
 *
 * @throws {GrantLoginError} there is no such role
 */
export async function grantLogin(
  admin: Database,
  databaseUrl: string,
  role: Role = "all",
  { hasIdentityLogin = false } = {},
): Promise<void> {
  const isApart = role === "all" && hasIdentityLogin;
  await grantMembership(admin, databaseUrl, {
    groups: isApart ? [SERVING_ROLES.gateway, SERVING_ROLES.data] : [SERVING_ROLES[role]],
    without: isApart ? SERVING_ROLES.all : undefined,
    variable: "DATABASE_URL",
  });
}

/**
 * Lets the login of `identityUrl` serve identity where one process does everything.
 *
 * @throws {GrantLoginError} there is no such role
 */
export async function grantIdentity(admin: Database, identityUrl: string): Promise<void> {
  await grantMembership(admin, identityUrl, {
    groups: [SERVING_ROLES.identity],
    variable: "IDENTITY_DATABASE_URL",
  });
}

/**
 * Lets the login of `consoleUrl` act for administrators who prove that they are.
 *
 * @throws {GrantLoginError} there is no such role
 */
export async function grantConsole(admin: Database, consoleUrl: string): Promise<void> {
  await grantMembership(admin, consoleUrl, {
    groups: ["rowhouse_console"],
    variable: "CONSOLE_DATABASE_URL",
  });
}

/**
 * Lets the login of `rowsUrl` count, read, restore and delete apps' rows for an operator's commands.
 *
 * @throws {GrantLoginError} there is no such role
 */
export async function grantRows(admin: Database, rowsUrl: string): Promise<void> {
  // Counting the rows of a large table takes as long as it needs.
  const membership = { groups: ["rowhouse_rows"], variable: "ROWS_DATABASE_URL", limitMs: 0 };
  await grantMembership(admin, rowsUrl, membership);
}

type Membership = {
  groups: readonly string[];
  /** What it is no longer a member of. */
  without?: string | undefined;
  variable: string;
  /** How long a statement may take; 0 for as long as it needs. */
  limitMs?: number;
};

async function grantMembership(
  admin: Database,
  url: string,
  { groups, without, variable, limitMs = EXECUTION_LIMIT_MS }: Membership,
): Promise<void> {
  const login = decodeURIComponent(new URL(url).username);
  const [found] = await readRows<{ is_self: boolean; database: string }>(
    admin,
    "select rolname = current_user as is_self, pg_catalog.current_database() as database from pg_catalog.pg_roles where rolname = $1",
    [login],
  );
  if (found === undefined) {
    throw new GrantLoginError(
      `The role ${quoteName(login)} of ${variable} does not exist: create it with create role ${quoteName(login)} login password '…'`,
    );
  }
  if (found.is_self) return;
  const database = quoteName(found.database);
  await admin.message(`
do $$ begin perform ${MIGRATE_LOCK}; end $$;
grant ${groups.join(", ")} to ${quoteName(login)};
${without === undefined ? "" : `revoke ${without} from ${quoteName(login)};`}
alter role ${quoteName(login)} in database ${database} set statement_timeout = '${limitMs}ms';
alter role ${quoteName(login)} in database ${database} set client_connection_check_interval = '1s';
do $$ begin
  if pg_catalog.has_parameter_privilege('temp_file_limit', 'set') then
    alter role ${quoteName(login)} in database ${database} set temp_file_limit = '${TEMP_FILE_LIMIT}';
  end if;
end $$;
do $rowhouse$ ${QUIET_LOGINS} $rowhouse$;
select 1`);
}

/** Lets a login push: a member of the owner of apps' tables, and of nothing else. Without a time limit, because builds take long. */
export async function grantPush(admin: Database, pushUrl: string): Promise<void> {
  const login = decodeURIComponent(new URL(pushUrl).username);
  await admin.message(`
do $$ begin
  perform ${MIGRATE_LOCK};
  if not pg_catalog.pg_has_role(${quoteLiteral(login)}, 'rowhouse_tables', 'member') then
    grant rowhouse_tables to ${quoteName(login)};
  end if;
end $$;
do $rowhouse$ ${QUIET_LOGINS} $rowhouse$;
select 1`);
}
