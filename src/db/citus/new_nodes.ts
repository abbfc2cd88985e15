/**
 * Nodes that were added to a Citus cluster but not set up by `rowhouse migrate`: they get no shards until then.
 *
 * @module
 */
import { type Database, SERVICE_QUEUE } from "../pool/mod.ts";
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
