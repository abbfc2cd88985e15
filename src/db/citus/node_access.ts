/**
 * Whether the coordinator of a Citus cluster is let in to the other nodes, as each role that it sends statements as. Where
 * they ask for passwords, the service's own roles are given some that no one has to know.
 *
 * @module
 */
import { quoteLiteral, quoteName } from "../literal.ts";
import type { Database } from "../pool/mod.ts";
import { CitusError } from "./check_nodes.ts";
import { listLogins, NODE_LOGINS } from "./logins.ts";

/** Lets the service's own roles in, where they are not. @throws {CitusError} a node does not let them in even so */
export async function letRolesIn(admin: Database): Promise<void> {
  if ((await findRefusals(admin, NODE_LOGINS)).length === 0) return;
  for (const role of NODE_LOGINS) await admin.message(renderPassword(role));
  refuse(
    await findRefusals(admin, NODE_LOGINS),
    "let its pg_hba.conf ask for scram-sha-256; if the role has had a password before, give pg_dist_authinfo its row of then",
  );
}

/** @throws {CitusError} a node does not let a login in that serves, pushes or acts */
export async function checkLoginsLetIn(admin: Database): Promise<void> {
  refuse(
    await findRefusals(admin, await listLogins(admin)),
    "put its password into the passfile of the coordinator's server, or take its rights away",
  );
}

type RejectedLogin = { node: string; role: string };

function refuse(refusals: readonly RejectedLogin[], remedy: string): void {
  if (refusals.length === 0) return;
  throw new CitusError(
    refusals.map(
      ({ node, role }) =>
        `Node ${node} cannot be reached from the coordinator as ${role}: ${remedy} (docs/scaling.md)`,
    ),
  );
}

async function findRefusals(admin: Database, roles: readonly string[]): Promise<RejectedLogin[]> {
  const refusals: RejectedLogin[] = [];
  for (const role of roles) {
    const rows = await admin.message<{ node: string }>(`set local role ${quoteName(role)};
select nodename || ':' || nodeport as node from pg_catalog.run_command_on_workers('select 1') where not success`);
    refusals.push(...rows.map(({ node }) => ({ node, role })));
  }
  return refusals;
}

/**
 * Makes a password in the coordinator, which keeps it where only superusers read it, and sends on what it is checked by. It is in
 * no statement that a server logs. One that the role has already is left alone: another database may keep it.
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
