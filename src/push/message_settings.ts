/** Settings and time limits of messages that change tables or functions. @module */
import { TABLE_OWNER } from "../catalog/mod.ts";

/**
 * Max total wait of a push for table locks. Requests queue behind the wait, so this bounds their delay. It
 * is shorter than PostgreSQL's deadlock_timeout of 1 s, so that a deadlock fails the push, never a request.
 */
export const LOCK_BUDGET_MS = 700;
export const MESSAGE_TIMEOUT_MS = 120_000;

/** Transaction settings of every message that changes tables or functions. */
export const MESSAGE_SETTINGS = [
  `set local statement_timeout = '${MESSAGE_TIMEOUT_MS}ms'`,
  `set local lock_timeout = '${LOCK_BUDGET_MS}ms'`,
  "set local citus.multi_shard_modify_mode = 'sequential'",
  `set local role ${TABLE_OWNER}`,
] as const;
