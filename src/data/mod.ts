/** Data: rows of apps' tables over REST. Its only SQL is the call of a generated function. @module */
export { makeChangeFeed } from "./change_feed.ts";
export { sealCursor } from "./cursors.ts";
export type { DataDeps } from "./deps.ts";
export { type IdempotencyCapacity, makeIdempotencyCapacity } from "./idempotency.ts";
export { type IdempotencySweepDeps, sweepIdempotency } from "./idempotency_sweep.ts";
export { type ListCache, makeListCache } from "./list_cache.ts";
export { toFilterParameters } from "./list_query.ts";
export { proveKey } from "./prove_key.ts";
export * from "./pure.ts";
export { listSortedColumns } from "./query_path.ts";
export { MAX_WORK } from "./query_work.ts";
export { dataRoutes } from "./routes.ts";
export { toValueSchema } from "./value_schema.ts";
