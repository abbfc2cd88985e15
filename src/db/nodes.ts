/** Commands for the nodes of a Citus cluster: set-up, state, and the distribution of a database over them. @module */
export { ANCHOR } from "./citus/anchor.ts";
export * from "./citus/check_nodes.ts";
export { type Conversion, PROGRESS, type Reference, renderConversion } from "./citus/conversion.ts";
export { checkLoginsLetIn, spreadLogins } from "./citus/logins.ts";
export { admitNodes, holdNewNodes } from "./citus/new_nodes.ts";
export {
  describeNode,
  findNodeError,
  findUnreachableNode,
  toNodeRemedy,
} from "./citus/node_error.ts";
export { findLoggingNodes, findNodeGaps } from "./citus/node_state.ts";
export { makeNodeMap, type NodeMap } from "./citus/nodes.ts";
export { isRestored, undoDistribution } from "./citus/restored.ts";
export { checkCluster, countShards, prepareNodes, SHARDS, setUpCluster } from "./citus/set_up.ts";
export { isNamed } from "./citus/shard_names.ts";
