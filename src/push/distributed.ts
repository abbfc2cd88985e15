/**
 * Renders steps for a database on the nodes of a Citus cluster. For each statement, Citus forwards the whole message, and
 * a node accepts one statement at a time, so each statement is in its own block. Pure.
 *
 * @module
 */
import { type ColumnSet, endpointsOf, functionSignature } from "../catalog/mod.ts";
import { ANCHOR, quoteBody, quoteLiteral, quoteName } from "../db/mod.ts";
import { renderFunctions } from "./functions.ts";
import type { Step } from "./step.ts";

/** Converts the statements of a step for one PostgreSQL. */
export function distributeStep(step: Step, statements: readonly string[]): string[] {
  if (step.kind === "create_functions") return renderDistributedFunctions(step.table);
  const blocks = statements.map(toBlock);
  return step.kind === "create_table" ? [...blocks, renderDistribute(step.table.name)] : blocks;
}

/** Previews do not support Citus. */
export const DISTRIBUTED = { isDistributed: true, previews: [] } as const;

/** Creates or replaces the functions of a column set on every node, so that a call runs entirely on its app's node. */
export function renderDistributedFunctions(table: ColumnSet): string[] {
  const signatures = endpointsOf(DISTRIBUTED).map((endpoint) => functionSignature(table, endpoint));
  return [
    // Two connections to one node, for the function and for its distribution, would wait for each other.
    "set local citus.enable_ddl_propagation = 'off'",
    ...renderFunctions(table, DISTRIBUTED),
    "set local citus.enable_ddl_propagation = 'on'",
    ...signatures.map((signature) =>
      toBlock(
        `perform create_distributed_function(${quoteLiteral(signature)}, '$1', ${quoteLiteral(ANCHOR)})`,
      ),
    ),
  ];
}

function renderDistribute(name: string): string {
  const table = quoteLiteral(`data.${quoteName(name)}`);
  return toBlock(
    `perform create_distributed_table(${table}, 'app_id', colocate_with := ${quoteLiteral(ANCHOR)})`,
  );
}

export function toBlock(statement: string): string {
  return `do ${quoteBody(`begin ${statement}; end`)}`;
}
