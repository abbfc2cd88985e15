/** Requirements for a Citus cluster before a database is distributed over it. @module */
import { quoteBody } from "../../std/quote.ts";
import { MIGRATE_LOCK } from "../migrations/roles.ts";
import { type Database, readRows } from "../pool/mod.ts";

/** The cluster or the database's record does not allow an operation. The message lists every issue. */
export class ClusterError extends Error {
  constructor(issues: readonly string[]) {
    super(`Cannot distribute this database:\n${issues.map((issue) => `  ${issue}`).join("\n")}`);
    this.name = "ClusterError";
  }
}

type Coordinator = {
  is_superuser: boolean;
  version: string | null;
  has_coordinator: boolean;
  nodes: { name: string; is_active: boolean; is_synced: boolean; has_shards: boolean }[];
};

/** A node's properties; the settings as PostgreSQL prints them. */
type NodeSettings = {
  wal_level: string;
  max_prepared_transactions: string;
  /** Null in versions without this setting. */
  output_plugin_libraries: string | null;
};

/** A node's result, or Citus's error if the node is unavailable. */
type NodeResponse = { node: string; success: boolean; result: string };

/**
 * Every issue of the cluster, as text for operators; empty if the database can be distributed.
 */
export async function findClusterIssues(admin: Database): Promise<string[]> {
  const coordinator = await readCoordinator(admin);
  const missing = [
    ...(coordinator.is_superuser
      ? []
      : ["The role of ADMIN_DATABASE_URL must be a superuser: it sets up roles on every node"]),
    ...(coordinator.version === null ? [NO_EXTENSION] : []),
  ];
  if (missing.length > 0) return missing;
  const issues = [...findNodeIssues(coordinator)];
  const responses = await askNodes(admin, SETTINGS);
  return [...issues, ...responses.flatMap(findSettingIssues)];
}

const NO_EXTENSION =
  "The extension citus is missing: run create extension citus in this database on every node, then citus_set_coordinator_host and citus_add_node here (docs/scaling.md)";

async function readCoordinator(admin: Database): Promise<Coordinator> {
  const [row] = await readRows<{ is_superuser: boolean; version: string | null }>(
    admin,
    `select (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as is_superuser,
      (select extversion from pg_catalog.pg_extension where extname = 'citus') as version`,
  );
  if (row === undefined) throw new Error("The query of the coordinator returned no row");
  const nodes = row.version === null ? [] : await readNodes(admin);
  return { ...row, nodes, has_coordinator: nodes.some(({ is_coordinator }) => is_coordinator) };
}

async function readNodes(admin: Database) {
  return await readRows<Coordinator["nodes"][number] & { is_coordinator: boolean }>(
    admin,
    `select nodename || ':' || nodeport as name, isactive as is_active, metadatasynced as is_synced, shouldhaveshards as has_shards,
      groupid = 0 as is_coordinator from pg_catalog.pg_dist_node where noderole = 'primary' order by groupid`,
  );
}

function findNodeIssues({ nodes, has_coordinator }: Coordinator): string[] {
  const missing = has_coordinator
    ? []
    : ["The coordinator is not registered: run select citus_set_coordinator_host('<its address>')"];
  const homeless = nodes.some((node) => node.has_shards)
    ? []
    : ["No node can store rows: run select citus_add_node('<host>', <port>) for each node"];
  const idle = nodes.filter((node) => !node.is_active || !node.is_synced);
  return [
    ...missing,
    ...homeless,
    ...idle.map(
      ({ name }) => `Node ${name} is not active: run select citus_activate_node('<host>', <port>)`,
    ),
  ];
}

const SETTINGS = `select pg_catalog.json_object_agg(name, setting) from (
  select wanted as name, pg_catalog.current_setting(wanted, true) as setting from pg_catalog.unnest(array[
    'wal_level', 'max_prepared_transactions', 'output_plugin_libraries']) as wanted) as settings`;

function findSettingIssues({ node, success, result }: NodeResponse): string[] {
  if (!success)
    return [
      `${toIssue({ node, result })}: start it, and allow the coordinator's server to log in as this superuser, with a passfile if it requires a password (docs/scaling.md)`,
    ];
  const settings = JSON.parse(result) as NodeSettings;
  const plugins = settings.output_plugin_libraries;
  return [
    ...(settings.wal_level === "logical" ? [] : ["wal_level must be logical"]),
    ...(settings.max_prepared_transactions === "0"
      ? ["max_prepared_transactions must be more than 0"]
      : []),
    ...(plugins === null || /\bcitus\b/.test(plugins)
      ? []
      : [`output_plugin_libraries must include citus in addition to ${plugins}`]),
  ].map((issue) => `Node ${node}: ${issue}; restart it after the change`);
}

export function toIssue({ node, result }: Pick<NodeResponse, "node" | "result">): string {
  return `Node ${node} is unavailable or rejects the statement: ${result}`;
}

/** Runs a statement with one value on every node, including the coordinator. Writes nothing to the log. */
export async function askNodes(admin: Database, statement: string): Promise<NodeResponse[]> {
  return await readRows<NodeResponse>(
    admin,
    `select nodename || ':' || nodeport as node, success, result
    from pg_catalog.run_command_on_all_nodes($1::pg_catalog.text, give_warning_for_connection_errors := true)
    join pg_catalog.pg_dist_node using (nodeid) order by groupid`,
    [statement],
  );
}

/**
 * Runs statements as a block on every node, including the coordinator.
 *
 * @throws {ClusterError} a node is unavailable or rejects them
 */
export async function runOnNodes(admin: Database, statements: string): Promise<void> {
  // The lock serializes commands: PostgreSQL rejects concurrent changes of a role.
  const body = `begin
perform ${MIGRATE_LOCK};
perform set_config('citus.enable_ddl_propagation', 'off', true);
${statements}
end`;
  const responses = await askNodes(admin, `do ${quoteBody(body)}`);
  const failed = responses.filter(({ success }) => !success);
  if (failed.length > 0) throw new ClusterError(failed.map(toIssue));
}

export async function listDataNodes(admin: Database): Promise<string[]> {
  const rows = await readRows<{ name: string }>(
    admin,
    `select nodename || ':' || nodeport as name from pg_catalog.pg_dist_node
    where noderole = 'primary' and isactive and shouldhaveshards order by groupid`,
  );
  return rows.map(({ name }) => name);
}
