/** What every message sets that changes tables or functions, and how long it may take. @module */
import { TABLE_OWNER } from "../catalog/mod.ts";

/**
 * How long a push waits for table locks in total. Requests queue behind the wait, so this is what they may notice; and it
 * is shorter than PostgreSQL's deadlock_timeout of 1 s, so that in a deadlock the push fails, never a request.
 */
export const LOCK_BUDGET_MS = 700;
export const MESSAGE_TIMEOUT_MS = 120_000;

/** What every message that changes tables or functions sets for its transaction. */
export const MESSAGE_SETTINGS = [
  `set local statement_timeout = '${MESSAGE_TIMEOUT_MS}ms'`,
  `set local lock_timeout = '${LOCK_BUDGET_MS}ms'`,
  "set local citus.multi_shard_modify_mode = 'sequential'",
  `set local role ${TABLE_OWNER}`,
] as const;
