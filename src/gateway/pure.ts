/** The pure part of this room: what settings need. @module */
export { isProxy } from "./client_address.ts";
export { MIN_SECRET_BYTES } from "./signature.ts";
