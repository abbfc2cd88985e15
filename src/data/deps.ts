/** What the data endpoints work with, and their limits. @module */
import type { Catalog } from "../catalog/mod.ts";
import type { Database } from "../db/mod.ts";
import type { Preview } from "../preview.ts";
import type { ChangeFeed } from "./change_feed.ts";
import type { IdempotencyRoom } from "./idempotency.ts";
import type { ListCache } from "./list_cache.ts";

export type DataDeps = {
  db: Database;
  catalog: Catalog;
  /** A new UUIDv7: ids are in order of creation. */
  makeId: () => string;
  /** Maximum size of an answer in bytes: of a row exactly, of a list give or take a row. */
  maxResponseBytes: number;
  /** Pages that were answered, for as long as the database says that they are right. */
  listCache: ListCache;
  /** Which previews are on. */
  previews: readonly Preview[];
  /** Maximum number of rows that a query visits. */
  maxVisits: number;
  /** Live updates, where `PREVIEW` names them. */
  changeFeed: ChangeFeed | undefined;
  /** How much room each app has left for idempotency keys. */
  idempotencyRoom: IdempotencyRoom;
};

/** Where the tables of an app are. */
export const DATA_PATH = "/v1/data/db";

/** Maximum size of a body in bytes, the service's documented limit: 100 KB. */
export const MAX_BODY = 102_400;

/** Maximum number of rows that one request creates. */
export const MAX_BATCH = 1000;

/** Maximum number of rows that a query visits: 5 to 15 ms. */
export const MAX_VISITS = 10_000;

/** How much memory pages may take that are kept, unless the operator sets another. */
export const LIST_CACHE_BYTES = 16_777_216;

/** How many bytes of answers to writes are kept for each app, unless the operator sets another number. */
export const IDEMPOTENCY_BYTES = 67_108_864;

/** Maximum size of an answer in bytes, unless the operator sets another. */
export const LIST_BYTES = 8_388_608;
