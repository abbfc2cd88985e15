/**
 * Repairs a dump of a distributed database that was restored on one PostgreSQL: all rows are in ordinary tables, but the
 * service's own functions are still the variants for nodes.
 *
 * @module
 */
import { MIGRATE_LOCK } from "../migrations/roles.ts";
import { type Database, readRows, readValue } from "../pool/mod.ts";
import { ANCHOR, IS_DISTRIBUTED_SQL } from "./anchor.ts";
import { findFunction } from "./functions.ts";

/** Returns whether the database is recorded as distributed, but is not. */
export async function isRestored(admin: Database): Promise<boolean> {
  const [row] = await readRows<{ has_anchor: boolean; has_citus: boolean }>(
    admin,
    `select ${IS_DISTRIBUTED_SQL} as has_anchor,
      pg_catalog.to_regclass('pg_catalog.pg_dist_partition') is not null as has_citus`,
  );
  if (row?.has_anchor !== true) return false;
  if (!row.has_citus) return true;
  const isDistributed = await readValue<boolean>(
    admin,
    `select exists (select from pg_catalog.pg_dist_partition
      where logicalrelid = $1::pg_catalog.text::pg_catalog.regclass) as is_distributed`,
    [ANCHOR],
  );
  return !isDistributed;
}

/** Converts the restored database for one PostgreSQL. The caller then renews apps' functions. */
export async function undoDistribution(admin: Database): Promise<void> {
  await admin.message(`set local citus.enable_ddl_propagation = 'off';
do $$ begin perform ${MIGRATE_LOCK}; end $$;
drop function if exists rowhouse.hold_new_nodes();
set local role rowhouse_owner;
${OWN.map(findFunction).join("\n")}
drop function if exists rowhouse.drop_part(text);
drop table if exists ${ANCHOR};
drop function if exists rowhouse.may_have_shard(bigint, integer);
drop table if exists rowhouse.nodes;
update rowhouse.versions set version = version + 1 where name = 'catalog';
update rowhouse.tables set version = (select version from rowhouse.versions where versions.name = 'catalog');
select 1`);
}

/** The functions that the set-up replaces. */
const OWN = ["enter_app", "delete_proof", "delete_stored", "drop_tables"];
