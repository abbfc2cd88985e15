/** Commands for the nodes of a Citus cluster: set-up, state, and the distribution of a database over them. @module */
export { ANCHOR } from "./citus/anchor.ts";
export * from "./citus/check_nodes.ts";
export {
  type Conversion,
  isRestored,
  PROGRESS,
  type Reference,
  renderConversion,
  SET_UP_LINES,
  undoDistribution,
} from "./citus/conversion.ts";
export { checkLoginsLetIn, spreadLogins } from "./citus/logins.ts";
export {
  describeNode,
  findNodeError,
  findUnreachableNode,
  toNodeRemedy,
} from "./citus/node_error.ts";
export { findLoggingNodes, findNodeGaps } from "./citus/node_state.ts";
export { makeNodeMap, type NodeMap } from "./citus/nodes.ts";
export {
  admitNodes,
  checkCluster,
  countShards,
  holdNewNodes,
  prepareNodes,
  SHARDS,
  setUpCluster,
} from "./citus/set_up.ts";
export { isNamed } from "./citus/shard_names.ts";
