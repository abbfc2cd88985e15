/**
 * Checks whether the coordinator of a Citus cluster can log in to the other nodes, with each role that it uses. If nodes
 * require passwords, the service's own roles get generated passwords.
 *
 * @module
 */
import { quoteLiteral, quoteName } from "../../std/quote.ts";
import type { Database } from "../pool/mod.ts";
import { ClusterError } from "./check_nodes.ts";
import { listLogins, NODE_LOGINS } from "./logins.ts";

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
