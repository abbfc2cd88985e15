/** Errors of calls that ran on, or could not reach, another node of a Citus cluster. Pure. @module */
export * from "./citus/node_error.ts";
export { readShardNames, type ShardNames } from "./citus/shard_names.ts";
