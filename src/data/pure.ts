/** The pure part of this room: what settings and commands need. @module */
export {
  DATA_PATH,
  IDEMPOTENCY_BYTES,
  LIST_BYTES,
  LIST_CACHE_BYTES,
  MAX_BATCH,
  MAX_BODY,
} from "./deps.ts";
