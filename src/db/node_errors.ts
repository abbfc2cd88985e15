/** Errors of calls that ran on, or could not reach, another node of a Citus cluster. Pure. @module */
export {
  findLostNode,
  findNodeError,
  isClusterFailure,
  isMisrouted,
  isOutdated,
  recordNodeError,
  type Warning,
} from "./citus/node_error.ts";
export { readShardNames, type ShardNames } from "./citus/shard_names.ts";
export { isUnconnected } from "./citus/unreachable_node.ts";
