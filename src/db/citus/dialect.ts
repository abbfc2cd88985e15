/**
 * The dialect of a database on the nodes of a Citus cluster. For each statement, Citus forwards the whole message, and a node
 * accepts one statement at a time, so each statement is in its own block.
 *
 * @module
 */
import { quoteBody, quoteLiteral, quoteName } from "../../std/quote.ts";
import type { Dialect, LargeTableOptions } from "../dialect.ts";
import type { Database } from "../pool/mod.ts";
import { NODES_IN_TURN, ONLY_HERE } from "../sql_constants.ts";
import { ANCHOR, BY_APP } from "./anchor.ts";
import { askNodes } from "./check_nodes.ts";
import { FUNCTIONS } from "./functions.ts";

export const CITUS: Dialect = {
  canChange: false,
  hasNodes: true,
  lacks: {
    eventStreams:
      "Event streams are not supported on a Citus cluster: its nodes have no common order (docs/scaling.md)",
    changes:
      "tables of a Citus cluster cannot be changed in this way: add a column or table, copy the rows, and leave the old one (docs/scaling.md)",
    // citusdata/citus#7132: the reference contains the column that distributes the rows.
    setNull: {
      message: "The schema declares onDelete set null, which a Citus cluster does not support",
      remedy: 'leave out onDelete, or use onDelete: "cascade"',
    },
  },
  service: {
    code: FUNCTIONS,
    keeps: ["shards", "nodes", "hold_new_nodes", "may_have_shard"],
  },
  // Citus delegates a call to another node only if the statement selects just the call, or selects from one call.
  callWithEcho: (call, echo) => `select body, ${echo} from ${call} as called (body)`,
  toStatement: toBlock,
  runMigration,
  placeTable: (name) => [
    toBlock(
      `perform create_distributed_table(${quoteLiteral(`data.${quoteName(name)}`)}, 'app_id', colocate_with := ${quoteLiteral(ANCHOR)})`,
    ),
  ],
  // On every node, so that a call runs entirely on its app's node.
  createFunctions: (statements, signatures) => [
    // Two connections to one node, for the function and for its distribution, would wait for each other.
    ONLY_HERE,
    ...statements,
    FORWARDED,
    ...signatures.map((signature) => {
      const place = signature.endsWith("()") ? "" : `, '$1', ${quoteLiteral(ANCHOR)}`;
      return toBlock(`perform create_distributed_function(${quoteLiteral(signature)}${place})`);
    }),
  ],
  findLargeTables,
};

/** Ends `ONLY_HERE`. */
const FORWARDED = "set local citus.enable_ddl_propagation = 'on'";
/** A change of a table that is distributed: every node needs it, before the code that expects it. */
const ON_NODES = new RegExp(
  `^(alter table (?:${BY_APP.join("|").replaceAll(".", "\\.")})\\b[^;]*;)`,
  "m",
);

/** A cluster forwards a whole text or nothing of it, so the changes for all nodes are texts of their own. */
function runMigration(sql: string): string {
  const statements = sql.split(ON_NODES).map((part, index) => {
    const execute = `execute ${quoteLiteral(part)};`;
    return index % 2 === 0 ? execute : `${FORWARDED}; ${NODES_IN_TURN}; ${execute} ${ONLY_HERE};`;
  });
  return statements.join("\n");
}

function toBlock(statement: string): string {
  return `do ${quoteBody(`begin ${statement}; end`)}`;
}

/** Pages of the tables' shards on one node, by the table's name. */
type ShardPages = Readonly<Record<string, number>>;

/**
 * The tables with at least this many pages on all nodes together, by the nodes' statistics. The coordinator's own
 * statistics have no rows. Citus' own functions request file sizes, which wait for locks on the tables.
 *
 * @throws {Error} a node is unavailable: the error of `reject`
 */
async function findLargeTables(
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
