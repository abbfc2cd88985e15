/** The pure part of this module, used by the settings. @module */
export { isProxy } from "./client_address.ts";
export { MIN_SECRET_BYTES } from "./signature.ts";
