/**
 * The dialect of a database on the nodes of a Citus cluster. For each statement, Citus forwards the whole message, and a node
 * accepts one statement at a time, so each statement is in its own block.
 *
 * @module
 */
import { quoteBody, quoteLiteral, quoteName } from "../../std/quote.ts";
import type { Dialect } from "../dialect.ts";
import { ONLY_HERE } from "../node_settings.ts";
import { ANCHOR } from "./anchor.ts";
import { FUNCTIONS } from "./functions.ts";
import { findLargeTables } from "./large_tables.ts";

export const CITUS: Dialect = {
  canChange: false,
  hasNodes: true,
  lacks: {
    conditions: "On a Citus cluster",
    eventStreams:
      "Event streams are not supported on a Citus cluster: its nodes have no common order",
    changes:
      "tables of a Citus cluster cannot be changed in this way: add a column or table, copy the rows, and leave the old one",
    // citusdata/citus#7132: the reference contains the column that distributes the rows.
    setNull: {
      message: "The schema declares onDelete set null, which a Citus cluster does not support",
      remedy: 'leave out onDelete, or use onDelete: "cascade"',
    },
    rules: {
      message: "The schema declares rules for people, which a Citus cluster does not support",
      remedy: "remove the rules: the app's own server then reads and writes rows with an API key",
    },
  },
  groupsCreates: false,
  insertsQueries: false,
  comparesInWrites: false,
  service: {
    code: FUNCTIONS,
    keeps: ["shards", "nodes", "hold_new_nodes", "may_have_shard"],
  },
  // Citus finds the shard of a statement at plan time. Except for the simplest statements, this requires the app's value.
  planCacheMode: "force_custom_plan",
  // Citus delegates a call to another node only if the statement selects just the call, or selects from one call.
  callWithEcho: (call, echo) => `select body, ${echo} from ${call} as called (body)`,
  toStatement: toBlock,
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
    "set local citus.enable_ddl_propagation = 'on'",
    ...signatures.map((signature) =>
      toBlock(
        `perform create_distributed_function(${quoteLiteral(signature)}, '$1', ${quoteLiteral(ANCHOR)})`,
      ),
    ),
  ],
  findLargeTables,
};

function toBlock(statement: string): string {
  return `do ${quoteBody(`begin ${statement}; end`)}`;
}
