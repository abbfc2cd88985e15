/**
 * `rowhouse migrate --citus`: distributes the service over the nodes of a Citus cluster. Idempotent; run it again after
 * each added node. Tables that apps' functions read and write are distributed by app, like rows; the service's other tables
 * stay on the coordinator.
 *
 * @module
 */
import { quoteBody } from "../../std/quote.ts";
import SCHEMA_RIGHTS from "../code/service/schema_rights.sql" with { type: "text" };
import READER_RIGHTS from "../code/tables/reader.sql" with { type: "text" };
import MAKE_ROLES from "../migrations/roles.sql" with { type: "text" };
import { MIGRATE_LOCK } from "../migrations/roles.ts";
import { type Database, readValue, SERVICE_QUEUE } from "../pool/mod.ts";
import { LOCK_BUDGET_MS } from "../sql_constants.ts";
import { ANCHOR, BY_APP, isDistributed } from "./anchor.ts";
import { ClusterError, findClusterIssues, runOnNodes } from "./check_nodes.ts";
import { FUNCTIONS } from "./functions.ts";
import { letRolesIn, NODE_LOGINS } from "./logins.ts";
import NEW_NODES from "./new_nodes.sql" with { type: "text" };

const STRATEGY = "rowhouse";

/** The body of a block: the record of nodes, and a rebalancer strategy, which operators can replace. */
export const RECORD_NODES = `set local citus.enable_ddl_propagation = 'off';
  ${NEW_NODES}
  if not exists (select from pg_catalog.pg_dist_rebalance_strategy where name = '${STRATEGY}') then
    perform pg_catalog.citus_add_rebalance_strategy('${STRATEGY}', 'citus_shard_cost_by_disk_size', 'citus_node_capacity_1',
      'rowhouse.may_have_shard', 0.1, 0.01, 0.5);
    perform pg_catalog.citus_set_default_rebalance_strategy('${STRATEGY}');
  end if;`;

/** Records the set-up nodes, and allows shards on the new nodes. A drained node stays drained. */
export async function admitNodes(admin: Database): Promise<void> {
  await admin.message(`with recorded as materialized (
      select pg_catalog.count(*) > 0 as is_known from rowhouse.nodes
    ), added as (
      insert into rowhouse.nodes (id) select nodeid from pg_catalog.pg_dist_node where noderole = 'primary'
      on conflict do nothing returning id
    )
    select pg_catalog.citus_set_node_property(nodename, nodeport, 'shouldhaveshards', true)
    from pg_catalog.pg_dist_node join added on id = nodeid cross join recorded
    where is_known and groupid <> 0 and not shouldhaveshards`);
}

export async function holdNewNodes(db: Database): Promise<void> {
  await db.query("select rowhouse.hold_new_nodes()", [], {
    retry: "safe",
    queue: SERVICE_QUEUE,
  });
}

/** Limits the number of nodes. Each additional shard makes tables larger and pushes slower (docs/scaling.md). */
export const SHARDS = 8;

/** Tables with the same row on every node. */
export const EVERYWHERE = "rowhouse.tag_seed";
/**
 * Every function that the roles of apps' functions own or may execute: it runs on the node with the app's rows. Those that serve calls
 * get the app first.
 */
const DISTRIBUTE_FUNCTIONS = `declare
    routine record;
  begin
    perform pg_catalog.set_config('citus.propagate_set_commands', 'local', true);
    for routine in select pg_proc.oid::pg_catalog.regprocedure::pg_catalog.text as signature, is_called
      from pg_catalog.pg_proc, lateral (select proowner = 'rowhouse_tenant'::pg_catalog.regrole) as calls (is_called)
      where pronamespace in ('rowhouse'::pg_catalog.regnamespace, 'find'::pg_catalog.regnamespace)
        and (proname = 'find_node_issues'
          or proowner in ('rowhouse_tenant'::pg_catalog.regrole, 'rowhouse_reader'::pg_catalog.regrole)
          or exists (select from pg_catalog.aclexplode(proacl)
            where grantee in ('rowhouse_tenant'::pg_catalog.regrole, 'rowhouse_reader'::pg_catalog.regrole)))
        -- The feed of changes is on the coordinator. No node has a finder of a table.
        and proname <> 'feed_name' and not (pronamespace = 'find'::pg_catalog.regnamespace and proname ~ '^make$|__finder$')
      order by prolang <> (select oid from pg_catalog.pg_language where lanname = 'plpgsql'), pg_proc.oid
    loop
      if routine.is_called then
        perform create_distributed_function(routine.signature::pg_catalog.regprocedure, '$1', '${ANCHOR}');
      else
        perform create_distributed_function(routine.signature::pg_catalog.regprocedure);
      end if;
      -- A function created on a node can be executed by everyone.
      execute pg_catalog.format('revoke all on function %s from public', routine.signature);
      -- Citus forwards the setting once a transaction on the node has begun. A function can call one that the node gets later.
      set local check_function_bodies = off;
    end loop;
    set local check_function_bodies = on;
    perform pg_catalog.set_config('citus.propagate_set_commands', 'none', true);
  end;`;

/**
 * Checks the cluster before any migration; does nothing for a plain database that is not to be distributed.
 *
 * @throws {ClusterError} every issue of the cluster; or a number of shards other than the database's
 */
export async function checkCluster(admin: Database, shards: number | undefined): Promise<void> {
  const issues = await findClusterIssues(admin);
  if (issues.length > 0) throw new ClusterError(issues);
  const found = await countShards(admin);
  if (found !== undefined && shards !== undefined && found !== shards)
    throw new ClusterError([
      `The database has ${found} shards, which cannot be changed: omit --shards, or set it to ${found}`,
    ]);
  if (found === undefined && (await hasTables(admin)))
    throw new ClusterError([
      "Apps already have tables in the database: rowhouse admin convert-to-citus distributes them with their rows",
    ]);
}

/** The number of shards; `undefined` for a database that is not distributed. */
export async function countShards(admin: Database): Promise<number | undefined> {
  if (!(await isDistributed(admin))) return undefined;
  return await readValue<number>(
    admin,
    "select pg_catalog.count(*)::pg_catalog.int4 as count from pg_catalog.pg_dist_shard where logicalrelid = $1::pg_catalog.text::pg_catalog.regclass",
    [ANCHOR],
  );
}

async function hasTables(admin: Database): Promise<boolean> {
  return await readValue<boolean>(
    admin,
    `select exists (select from pg_catalog.pg_class
      where relnamespace = pg_catalog.to_regnamespace('data') and relkind in ('r', 'p')) as found`,
  );
}

/** Roles and rights on every node; changes nothing in a database that is not distributed. */
export async function prepareNodes(admin: Database): Promise<void> {
  await runOnNodes(admin, renderNode());
  await letRolesIn(admin);
}

/** Distributes a migrated database, or updates a distributed database and its nodes. */
export async function setUpCluster(admin: Database, shards = SHARDS): Promise<void> {
  await prepareNodes(admin);
  for (const text of renderDistribution(shards)) await admin.message(text);
  await runOnNodes(admin, REVOKES);
}

/** All statements of the set-up, for review: the blocks for every node first and last, and the messages between them. */
export function renderSetUp(shards: number): string[] {
  return [renderNode(), ...renderDistribution(shards), REVOKES];
}

/** Roles, schemas and rights: Citus does not copy them to a node. */
function renderNode(): string {
  const schemas = ["rowhouse", "data", "api", "find"].map(
    (name) => `create schema if not exists ${name} authorization rowhouse_owner;`,
  );
  // Citus does not forward the settings of a push's transaction.
  const settings = NODE_LOGINS.map(
    (role) =>
      `execute format('alter role ${role} in database %I set lock_timeout = ''${LOCK_BUDGET_MS}ms''', current_database());`,
  );
  return `${MAKE_ROLES}
${NODE_LOGINS.map((role) => `alter role ${role} login;`).join("\n")}
${settings.join("\n")}
execute format('revoke temporary on database %I from public', current_database());
${schemas.join("\n")}
${SCHEMA_RIGHTS}
${READER_RIGHTS}`;
}

/** Changes only functions that still have the grant, because concurrent pushes change others. */
const REVOKES = `declare
  routine regprocedure;
begin
  for routine in select oid from pg_catalog.pg_proc
    where pronamespace in ('rowhouse'::regnamespace, 'api'::regnamespace, 'find'::regnamespace)
      and pg_catalog.has_function_privilege('public', oid, 'execute') loop
    execute format('revoke execute on routine %s from public', routine);
  end loop;
end;`;

/** The messages that distribute; each is idempotent. */
function renderDistribution(shards: number): string[] {
  return [
    ...renderBodies(shards).map(toMessage),
    // Citus moves no shards while an added node lacks the reference tables.
    "select pg_catalog.replicate_reference_tables('block_writes')",
  ];
}

/**
 * Distributes the service's own part, as bodies of blocks: tables, then functions, then the functions that apps' functions
 * call.
 */
export function renderBodies(shards: number): string[] {
  const distributes = BY_APP.map((table) =>
    unlessDistributed(
      table,
      `perform create_distributed_table('${table}', 'app_id', colocate_with := '${ANCHOR}');
    perform truncate_local_data_after_distributing_table('${table}');`,
    ),
  );
  const anchor = `create table if not exists ${ANCHOR} (app_id uuid primary key);
  alter table ${ANCHOR} owner to rowhouse_owner;
  grant select, delete on ${ANCHOR} to rowhouse_rows, rowhouse_tenant;
  ${unlessDistributed(ANCHOR, `perform create_distributed_table('${ANCHOR}', 'app_id', colocate_with := 'none', shard_count := ${shards});`)}`;
  return [
    `set local citus.multi_shard_modify_mode = 'sequential';
  ${anchor}
  ${distributes.join("\n  ")}
  ${unlessDistributed(EVERYWHERE, `perform create_reference_table('${EVERYWHERE}');`)}`,
    `set local citus.enable_ddl_propagation = 'off';
  ${FUNCTIONS}`,
    DISTRIBUTE_FUNCTIONS,
    RECORD_NODES,
  ];
}

function unlessDistributed(table: string, statements: string): string {
  return `if not exists (select from pg_catalog.pg_dist_partition where logicalrelid = '${table}'::regclass) then
    ${statements}
  end if;`;
}

/** One block, because Citus forwards a whole message for each of its statements. */
function toMessage(statements: string): string {
  const body = `begin
  perform ${MIGRATE_LOCK};
  ${statements}
end`;
  return `do ${quoteBody(body)};\nselect 1`;
}
