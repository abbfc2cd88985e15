/** Nodes that log the statements of calls, which contain values of rows. @module */
import type { Database } from "../pool/mod.ts";
import { readRows } from "../read_rows.ts";
import { isDistributed } from "./anchor.ts";

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
