/** What pushes are bound by, and where they are sent. @module */
import { MAX_MIGRATION_BYTES } from "./migration_text.ts";

/** What the keys of one app may push. */
export type PushLimits = {
  /** Pushes and dry runs per hour: each counts once, whatever its outcome. */
  pushesPerHour: number;
  /** Maximum size in bytes of all migrations of the app together. */
  journalBytes: number;
};
export const PUSH_LIMITS: PushLimits = { pushesPerHour: 300, journalBytes: 67_108_864 };

/** How many migrations a dry run plans at most. */
export const MAX_PLANNED = 100;
/** Maximum size of a push in bytes: 500 tables × 200 columns do not fit into the 100 KB of a row. */
export const MAX_BYTES = 1_048_576;
/** A migration whose every byte is escaped, and the definition beside it; or all migrations to join, with both definitions. */
export const MAX_REPLAY_BYTES: number = 2 * MAX_MIGRATION_BYTES + MAX_BYTES;

export const SCHEMA_PATH = "/v1/data/schema";
export const CHANGES_PATH = `${SCHEMA_PATH}/changes`;
export const JOINS_PATH = `${SCHEMA_PATH}/joins`;
export const MIGRATIONS_PATH = `${SCHEMA_PATH}/migrations`;
