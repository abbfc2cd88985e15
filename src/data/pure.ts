/** The pure part of this module, for settings and commands. @module */
export { createdOf, foundOf, pageOf } from "./bodies.ts";
export {
  DATA_PATH,
  IDEMPOTENCY_BYTES,
  LIST_BYTES,
  LIST_CACHE_BYTES,
  MAX_VISITS,
  QUERY_TIMEOUT_S,
} from "./deps.ts";
