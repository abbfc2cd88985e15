/** Settings of a Citus cluster, without effect on one PostgreSQL. Pure. @module */

/** The settings of every message that changes tables: one node after the other. */
export const NODES_IN_TURN = "set local citus.multi_shard_modify_mode = 'sequential'";
/** Before statements of which no other node needs a copy, such as roles: `spreadLogins` copies them under its lock. */
export const ONLY_HERE = "set local citus.enable_ddl_propagation = 'off'";
