/**
 * Logins on the nodes of a Citus cluster: the coordinator's serving, pushing and Console logins exist on every node, and the
 * coordinator can use its roles there.
 *
 * @module
 */
import { quoteLiteral, quoteName } from "../../std/quote.ts";
import { ROLE_NAMES } from "../migrations/roles.ts";
import { type Database, readRows } from "../pool/mod.ts";
import { ClusterError, runOnNodes } from "./check_nodes.ts";

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

// Whether the coordinator can log in to the other nodes. If nodes require passwords, the service's own roles get generated ones.

/** Gives the service's own roles access, if they lack it. @throws {ClusterError} a node still rejects them */
export async function letRolesIn(admin: Database): Promise<void> {
  if ((await findRejections(admin, NODE_LOGINS)).length === 0) return;
  for (const role of NODE_LOGINS) await admin.message(renderPassword(role));
  reject(
    await findRejections(admin, NODE_LOGINS),
    "require scram-sha-256 in its pg_hba.conf; if the role already had a password, restore its earlier row in pg_dist_authinfo",
  );
}

/** @throws {ClusterError} a node rejects a serving, pushing or Console login */
export async function checkLoginsLetIn(admin: Database): Promise<void> {
  reject(
    await findRejections(admin, await listLogins(admin)),
    "add its password to the password file of the coordinator's server, or revoke its rights",
  );
}

type RejectedLogin = { node: string; role: string };

function reject(rejections: readonly RejectedLogin[], remedy: string): void {
  if (rejections.length === 0) return;
  throw new ClusterError(
    rejections.map(
      ({ node, role }) =>
        `Node ${node} cannot be reached from the coordinator as ${role}: ${remedy} (docs/scaling.md)`,
    ),
  );
}

async function findRejections(admin: Database, roles: readonly string[]): Promise<RejectedLogin[]> {
  const rejections: RejectedLogin[] = [];
  for (const role of roles) {
    const rows = await admin.message<{ node: string }>(`set local role ${quoteName(role)};
select nodename || ':' || nodeport as node from pg_catalog.run_command_on_workers('select 1') where not success`);
    rejections.push(...rows.map(({ node }) => ({ node, role })));
  }
  return rejections;
}

/**
 * Generates a password on the coordinator, where only superusers can read it, and sends its verifier to the nodes. No
 * logged statement contains it. An existing password of the role stays: another database can use it.
 */
function renderPassword(role: string): string {
  const body = `declare
  secret text := encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  proof text;
begin
  ${UNSEEN.map(([name, value]) => `perform set_config('${name}', '${value}', true);`).join("\n  ")}
  if (select rolpassword is null from pg_authid where rolname = '${role}') then
    delete from pg_dist_authinfo where rolename = '${role}';
    execute format('alter role ${role} password %L', secret);
    insert into pg_dist_authinfo (nodeid, rolename, authinfo) values (0, '${role}', 'password=' || secret);
  end if;
  select rolpassword into proof from pg_authid where rolname = '${role}';
  perform run_command_on_workers(format(${quoteLiteral(SET_ON_NODE)}, '${role}', proof));
end`;
  return `do ${quoteLiteral(body)};\nselect 1`;
}

const SET_ON_NODE = `do $set$ begin
  perform pg_catalog.set_config('citus.enable_ddl_propagation', 'off', true);
  alter role %I password %L;
end $set$`;

/** For this transaction only. */
const UNSEEN = [
  ["citus.enable_ddl_propagation", "off"],
  ["password_encryption", "scram-sha-256"],
  ["log_min_messages", "panic"],
  ["pg_stat_statements.track", "none"],
  ["pgaudit.log", "none"],
] as const;
