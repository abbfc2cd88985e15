/** Finds large tables on the nodes of a Citus cluster. The coordinator's own statistics have no rows. @module */
import { quoteLiteral } from "../../std/quote.ts";
import type { LargeTableOptions } from "../dialect.ts";
import type { Database } from "../pool/mod.ts";
import { askNodes } from "./check_nodes.ts";

/** Pages of the tables' shards on one node, by the table's name. */
type ShardPages = Readonly<Record<string, number>>;

/**
 * The tables with at least this many pages on all nodes together, by the nodes' statistics. Citus' own functions
 * request file sizes, which wait for locks on the tables.
 *
 * @throws {Error} a node is unavailable: the error of `reject`
 */
export async function findLargeTables(
  admin: Database,
  names: readonly string[],
  { largeTablePages, rowsAPage, reject }: LargeTableOptions,
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const responses = await askNodes(admin, renderShardPages(names, rowsAPage));
  const nodes = responses.map(({ node, success, result }) => {
    if (!success) throw reject(node, new Error(result));
    return JSON.parse(result) as ShardPages;
  });
  const sum = (name: string) => nodes.reduce((pages, node) => pages + (node[name] ?? 0), 0);
  return new Set(names.filter((name) => sum(name) >= largeTablePages));
}

function renderShardPages(names: readonly string[], rowsAPage: number): string {
  return `select coalesce(pg_catalog.json_object_agg(name, pages), '{}') from (
    select whole.relname as name, pg_catalog.sum(case when shard.reltuples < 0
        then pg_catalog.pg_stat_get_live_tuples(shard.oid) / ${rowsAPage} else shard.relpages end) as pages
    from pg_catalog.pg_class as whole
    join pg_catalog.pg_dist_shard on logicalrelid = whole.oid
    join pg_catalog.pg_class as shard on shard.relnamespace = whole.relnamespace
      and pg_catalog.format('data.%I', shard.relname) = pg_catalog.shard_name(whole.oid, shardid)
    where whole.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = 'data')
      and whole.relname = any (array[${names.map(quoteLiteral).join(", ")}]::pg_catalog.name[])
    group by whole.relname) as tables`;
}
