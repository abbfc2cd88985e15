/** The pure part of this room: what settings need. @module */
export { DEFAULT_SETTINGS } from "./settings.ts";
