/** The pure part of this room: what settings need. @module */
export { IDEMPOTENCY_BYTES, LIST_BYTES, LIST_CACHE_BYTES } from "./deps.ts";
