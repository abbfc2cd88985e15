/**
 * Checks that `rowhouse migrate` has set up each node of a Citus cluster, as Citus does not copy everything, and that none logs
 * the statements of calls.
 *
 * @module
 */
import { quoteLiteral } from "../../std/quote.ts";
import { type Database, readRows, readValue } from "../pool/mod.ts";
import { isDistributed } from "./anchor.ts";
import { askNodes, toIssue } from "./check_nodes.ts";
import { listLogins, NODE_LOGINS } from "./logins.ts";
import { EVERYWHERE } from "./set_up.ts";

/** The parts that a node lacks until the next `rowhouse migrate`, as text for operators; empty if it can store rows. */
export async function findNodeGaps(admin: Database, node: string): Promise<string[]> {
  const logins = [...NODE_LOGINS, ...(await listLogins(admin))];
  const response = (await askNodes(admin, renderGaps(logins))).find((found) => found.node === node);
  if (response === undefined) return [];
  if (!response.success) return [toIssue(response)];
  const gaps = JSON.parse(response.result) as string[];
  return (await hasCopy(admin, node)) ? gaps : [...gaps, `${EVERYWHERE} has no copy there`];
}

/** A statement that returns one value: the parts that the executing node lacks. */
function renderGaps(logins: readonly string[]): string {
  const names = logins.map(quoteLiteral).join(", ");
  return `select coalesce(pg_catalog.json_agg(gap order by gap), '[]')::pg_catalog.text from (
    select 'the role ' || wanted || ' may not log in there' as gap
      from pg_catalog.unnest(array[${names}]) as wanted
      where not exists (select from pg_catalog.pg_roles where rolname = wanted and rolcanlogin)
    union all
    select distinct 'functions created there are executable by all logins' from pg_catalog.unnest(array['rowhouse_owner', 'rowhouse_tables']) as maker
      where not exists (select from pg_catalog.pg_default_acl where defaclrole = pg_catalog.to_regrole(maker)
        and defaclnamespace = 0 and defaclobjtype = 'f'
        and not exists (select from pg_catalog.aclexplode(defaclacl) where grantee = 0))
    union all
    select 'all logins may execute functions there' where exists (select from pg_catalog.pg_proc
      where pronamespace in (pg_catalog.to_regnamespace('rowhouse'), pg_catalog.to_regnamespace('api'))
        and pg_catalog.has_function_privilege('public', oid, 'execute'))
    union all
    select 'all logins may create temporary tables there'
      where pg_catalog.has_database_privilege('public', pg_catalog.current_database(), 'temporary')
  ) as gaps`;
}

/** Returns whether it has the reference tables, without which Citus moves nothing to it. */
async function hasCopy(admin: Database, node: string): Promise<boolean> {
  return await readValue<boolean>(
    admin,
    `select exists (select from pg_catalog.pg_dist_shard join pg_catalog.pg_dist_placement using (shardid)
      join pg_catalog.pg_dist_node using (groupid)
      where logicalrelid = $1::pg_catalog.text::pg_catalog.regclass
        and nodename || ':' || nodeport = $2::pg_catalog.text) as found`,
    [EVERYWHERE, node],
  );
}

/** Whether a node logs statements from Citus, which contain their values. */
const LOGS_STATEMENTS_SQL = `pg_catalog.current_setting('log_min_error_statement') not in ('log', 'fatal', 'panic')
  or pg_catalog.current_setting('log_statement') in ('mod', 'all')
  or pg_catalog.current_setting('log_min_duration_statement') <> '-1'
  or pg_catalog.current_setting('log_min_duration_sample') <> '-1'`;

/** The available nodes that log statements; none on one PostgreSQL. */
export async function findLoggingNodes(db: Database): Promise<string[]> {
  if (!(await isDistributed(db))) return [];
  const nodes = await readRows<{ node: string }>(
    db,
    `select nodename || ':' || nodeport as node from pg_catalog.pg_dist_node as node,
      lateral pg_catalog.master_run_on_worker(array[nodename], array[nodeport], array[$1::pg_catalog.text], false)
    where noderole = 'primary' and isactive and success and result = 'true' order by groupid`,
    [`select (${LOGS_STATEMENTS_SQL})::pg_catalog.text`],
  );
  return nodes.map(({ node }) => node);
}
