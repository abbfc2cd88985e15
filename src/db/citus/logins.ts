/** Logins on the nodes of a Citus cluster: the coordinator's serving, pushing and Console logins exist on every node. @module */
import { quoteLiteral, quoteName } from "../../std/quote.ts";
import { ROLE_NAMES } from "../migrations/roles.ts";
import type { Database } from "../pool/mod.ts";
import { readRows } from "../read_rows.ts";
import { runOnNodes } from "./check_nodes.ts";

/**
 * The roles of statements that the coordinator sends to another node. Omits `rowhouse_tenant`: a call that Citus did not
 * delegate completely to the app's node must fail, because row security there would hide the app's rows.
 */
export const NODE_LOGINS = ["rowhouse_owner", "rowhouse_tables", "rowhouse_rows"] as const;

/** Creates the coordinator's serving, pushing and Console logins on the other nodes, with the same passwords. */
export async function spreadLogins(admin: Database): Promise<void> {
  const logins = await readRows<Login>(admin, LOGINS);
  if (logins.length > 0) await runOnNodes(admin, logins.map(renderLogin).join("\n"));
}

type Login = { name: string; password: string | null; groups: string; settings: string };

/** The service's roles, which cannot log in. */
const OWN_ROLES = `(array[${ROLE_NAMES.map(quoteLiteral).join(", ")}])`;

/** The roles that each node must have. */
export async function listLogins(admin: Database): Promise<string[]> {
  const logins = await readRows<Login>(admin, LOGINS);
  return logins.map(({ name }) => name);
}

/** Logins that are members of these roles, with their passwords as PostgreSQL stores them. */
const LOGINS = `select rolname as name, rolpassword as password, groups::pg_catalog.text as groups,
  coalesce((select pg_catalog.to_json(setconfig) from pg_catalog.pg_db_role_setting where setrole = logins.oid
    and setdatabase = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())), '[]')::pg_catalog.text as settings
from pg_catalog.pg_authid as logins, lateral (
  select pg_catalog.json_agg(parents.rolname) as groups from pg_catalog.pg_auth_members
  join pg_catalog.pg_roles as parents on parents.oid = roleid
  where member = logins.oid and parents.rolname = any ${OWN_ROLES}) as memberships
where groups is not null and rolcanlogin and not rolsuper and rolname <> all ${OWN_ROLES}`;

function renderLogin({ name, password, groups, settings }: Login): string {
  const login = quoteName(name);
  const secret = password === null ? "" : ` password ${quoteLiteral(password)}`;
  // Copies a changed password, so that the old password works nowhere. If the coordinator has no password, a node keeps
  // its own.
  const renew =
    password === null
      ? ""
      : `
elsif (select rolpassword from pg_catalog.pg_authid where rolname = ${quoteLiteral(name)}) is distinct from ${quoteLiteral(password)} then
  alter role ${login}${secret};`;
  const set = (JSON.parse(settings) as string[]).map((assignment) => {
    const [setting = "", ...value] = assignment.split("=");
    const text = `alter role ${login} in database %I set ${setting} = ${quoteLiteral(value.join("="))}`;
    return `execute format(${quoteLiteral(text)}, current_database());`;
  });
  return `if not exists (select from pg_catalog.pg_roles where rolname = ${quoteLiteral(name)}) then
  create role ${login} login${secret};${renew}
end if;
${(JSON.parse(groups) as string[]).map((group) => `grant ${group} to ${login};`).join("\n")}
${set.join("\n")}`;
}
