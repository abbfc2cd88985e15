/** Limits of pushes, and their path. @module */
import { LIMIT_SETTINGS } from "../limit_setting.ts";
import { MAX_MIGRATION_BYTES } from "./history/migration_text.ts";

/** Limits of one app's keys. */
export type PushLimits = {
  /** Pushes and dry runs per hour. Each counts once, whatever its result. */
  pushesPerHour: number;
  /** Max bytes of all migrations of the app together. */
  journalBytes: number;
};
export const PUSH_LIMITS: PushLimits = {
  pushesPerHour: LIMIT_SETTINGS.pushesPerHour.initial,
  journalBytes: 67_108_864,
};

/** Max migrations that one request contains, to plan or to join them. */
export const MAX_MIGRATIONS_SENT = 100;
/** Max bytes of a push: 500 tables × 200 columns do not fit into the 100 KB of a row. */
export const MAX_BYTES = 1_048_576;
/** A migration with every byte escaped, and the definition; or all migrations to join, with both definitions. */
export const MAX_REPLAY_BYTES: number = 2 * MAX_MIGRATION_BYTES + MAX_BYTES;

export const SCHEMA_PATH = "/v1/data/schema";
export const MIGRATIONS_PATH = `${SCHEMA_PATH}/migrations`;
