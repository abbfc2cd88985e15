/** Dependencies of the data endpoints, and their limits. @module */

import type { Database } from "../db/mod.ts";
import { LIMIT_SETTINGS, type SetLimits } from "../limit_setting.ts";
import type { Preview } from "../preview.ts";
import type { Principal } from "../principal.ts";
import type { Catalog } from "../tables/catalog/mod.ts";
import type { IdempotencyCapacity } from "./idempotency.ts";
import type { ListCache } from "./list_cache.ts";
import type { ChangeFeed } from "./live/change_feed.ts";
import type { Unindexed } from "./unindexed.ts";

export type DataDeps = SetLimits & {
  db: Database;
  catalog: Catalog;
  /** A new UUIDv7: ids sort in order of creation. */
  makeId: () => string;
  /** Cached pages, used only after the database confirms their tags. */
  listCache: ListCache;
  /** Whether creates of one app that arrive together are sent as one statement. */
  groupsCreates: boolean;
  previews: readonly Preview[];
  /** Max rows that a count or groups visit. */
  maxCounted: number;
  /** Runs queries that no index serves. */
  unindexed: Unindexed;
  /** Live updates, if `PREVIEW` contains `live`. */
  changeFeed: ChangeFeed | undefined;
  idempotencyCapacity: IdempotencyCapacity;
};

/**
 * Whether a caller can use conditions, orders, cursors, groups and `onConflict`. The Console's keys always can: its pages search and
 * sort by them. API keys and people can with the preview `filters`.
 */
export function allowsQueries(
  { previews }: Pick<DataDeps, "previews">,
  { isOfConsole }: Pick<Principal, "isOfConsole">,
): boolean {
  return isOfConsole || previews.includes("filters");
}

export const DATA_PATH = "/v1/data/db";

/** The query parameter of a create that names the columns of a unique constraint. */
export const ON_CONFLICT = "onConflict";

/** The path of a create that updates the rows with the same values in these columns, separated by commas. */
export function toUpsertPath(table: string, unique: string): string {
  return `${table}?${ON_CONFLICT}=${encodeURIComponent(unique)}`;
}

/** Bytes of memory for cached pages. */
export const LIST_CACHE_BYTES = 16_777_216;

/** Default max bytes of a response. */
export const LIST_BYTES = LIMIT_SETTINGS.maxResponseBytes.initial;
