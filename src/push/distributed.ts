/**
 * Steps as a database takes them that is distributed over the nodes of a Citus cluster. Citus sends a message on whole for
 * each statement of it, and a node takes one statement at a time: so each stands in a block of its own. Pure.
 *
 * @module
 */
import { type ColumnSet, endpointsOf, functionSignature } from "../catalog/mod.ts";
import { ANCHOR, quoteBody, quoteLiteral, quoteName } from "../db/mod.ts";
import { renderFunctions } from "./functions.ts";
import type { Step } from "./step.ts";

/** The statements of a step, given those for one PostgreSQL. */
export function distributeStep(step: Step, statements: readonly string[]): string[] {
  if (step.kind === "create_functions") return renderDistributedFunctions(step.table);
  const blocks = statements.map(toBlock);
  return step.kind === "create_table" ? [...blocks, renderDistribute(step.table.name)] : blocks;
}

/** No preview covers Citus. */
export const DISTRIBUTED = { isDistributed: true, previews: [] } as const;

/** Creates or replaces the functions of a set on every node, in such a way that a call goes whole to the node of its app. */
export function renderDistributedFunctions(table: ColumnSet): string[] {
  const signatures = endpointsOf(DISTRIBUTED).map((endpoint) => functionSignature(table, endpoint));
  return [
    // Two connections to one node, one for the function and one for its distribution, would wait for each other.
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
