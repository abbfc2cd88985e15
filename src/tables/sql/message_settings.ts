/** Settings and time limits of messages that change tables or functions. @module */

import { LOCK_BUDGET_MS, NODES_IN_TURN } from "../../db/mod.ts";
import { TABLE_OWNER } from "../catalog/mod.ts";

export const MESSAGE_TIMEOUT_MS = 120_000;

/** Transaction settings of every message that changes tables or functions. */
export const MESSAGE_SETTINGS = [
  `set local statement_timeout = '${MESSAGE_TIMEOUT_MS}ms'`,
  `set local lock_timeout = '${LOCK_BUDGET_MS}ms'`,
  NODES_IN_TURN,
  `set local role ${TABLE_OWNER}`,
] as const;
