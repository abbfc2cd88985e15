/** Data: rows of apps' tables over REST. Its only SQL is the call of a generated function. @module */

export { batchOf, foundOf, groupsOf, pageOf, upsertedOf } from "./bodies.ts";
export { callerRoute, formerCallerRoute } from "./caller.ts";
export {
  type DataDeps,
  LIST_BYTES,
  LIST_CACHE_BYTES,
  ON_CONFLICT,
} from "./deps.ts";
export {
  type IdempotencyCapacity,
  type IdempotencySweepDeps,
  makeIdempotencyCapacity,
  sweepIdempotency,
} from "./idempotency.ts";
export { type ListCache, makeListCache } from "./list_cache.ts";
export { makeChangeFeed } from "./live/change_feed.ts";
export { sealCursor } from "./live/cursors.ts";
export { QUERY_PARAMETERS } from "./operations.ts";
export { proveKey } from "./prove_key.ts";
export {
  type FilterParameter,
  toConditionSchema,
  toFilterParameters,
} from "./query/read_list_query.ts";
export { MAX_RELATIONS } from "./query/related_rows.ts";
export { SENT_IDS_PREFERENCE } from "./read_row.ts";
export { dataRoutes } from "./routes.ts";
export { makeUnindexed, type UnindexedLimits } from "./unindexed.ts";
export { toValueSchema } from "./violation.ts";
