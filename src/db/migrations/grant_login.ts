/**
 * Group memberships of logins: a serving login is a member of its role's group, the pushing login of the owner of tables,
 * the Console's login of the role for administrators' actions.
 *
 * @module
 */
import type { Role } from "../../role.ts";
import { quoteLiteral, quoteName } from "../../std/quote.ts";
import { SERVING_ROLES } from "../isolation.ts";
import { type Database, EXECUTION_LIMIT_MS, readRows } from "../pool/mod.ts";
import { ONLY_HERE } from "../sql_constants.ts";
import { MIGRATE_LOCK, ROLE_NAMES } from "./roles.ts";

/**
 * Keeps failed statements out of the server's log: calls are sent on to other nodes with their values, so a rejected
 * write would be logged with its row and the proof of its key. Only a superuser can set this; otherwise the doctor warns.
 */
const QUIET_LOGINS = `declare
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

/** Applies {@linkcode QUIET_LOGINS}, also on other nodes: `run` runs a block on all. */
export async function quietLogins(
  admin: Database,
  run?: (admin: Database, statements: string) => Promise<void>,
): Promise<void> {
  if (run !== undefined) return await run(admin, `${QUIET_LOGINS};`);
  await admin.message(`
do $rowhouse$ begin perform ${MIGRATE_LOCK}; end $rowhouse$;
do $rowhouse$ ${QUIET_LOGINS} $rowhouse$;
select 1`);
}

export class GrantLoginError extends Error {}

/** Max temporary files per session of a login that owns no table: its statements sort at most a page of rows. */
const TEMP_FILE_LIMIT = "256MB";

/**
 * Grants the login of `databaseUrl` the rights to serve in a role, with least privileges: if identity has a separate login,
 * without the rights of identity. Does not change the administrator's own login.
 *
 * @throws {GrantLoginError} the role does not exist
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

/** Logins with one task, by the setting with the address. */
const MEMBERSHIPS = {
  /** Serves identity in a process that runs all parts. */
  IDENTITY_DATABASE_URL: { groups: [SERVING_ROLES.identity] },
  /** The actions of administrators, which verify the user. */
  CONSOLE_DATABASE_URL: { groups: ["rowhouse_console"] },
  /** Operators' commands count, read, restore and delete apps' rows. Counting a large table has no time limit. */
  ROWS_DATABASE_URL: { groups: ["rowhouse_rows"], limitMs: 0 },
} as const;

/**
 * Grants the login of `url` the rights for its task.
 *
 * @throws {GrantLoginError} the role does not exist
 */
export async function grantTask(
  admin: Database,
  variable: keyof typeof MEMBERSHIPS,
  url: string,
): Promise<void> {
  await grantMembership(admin, url, { variable, ...MEMBERSHIPS[variable] });
}

type Membership = {
  groups: readonly string[];
  /** The group to remove it from. */
  without?: string | undefined;
  variable: string;
  /** Statement time limit; 0 for no limit. */
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
${ONLY_HERE};
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

/**
 * Grants a login the rights to push: a member of the owner of apps' tables only. Without a time limit, because builds last
 * long.
 */
export async function grantPush(admin: Database, pushUrl: string): Promise<void> {
  const login = decodeURIComponent(new URL(pushUrl).username);
  await admin.message(`
do $$ begin
  perform ${MIGRATE_LOCK};
  if not pg_catalog.pg_has_role(${quoteLiteral(login)}, 'rowhouse_tables', 'member') then
    grant rowhouse_tables to ${quoteName(login)};
  end if;
end $$;
${ONLY_HERE};
do $rowhouse$ ${QUIET_LOGINS} $rowhouse$;
select 1`);
}
