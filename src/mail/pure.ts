/** The pure part of this room: what settings need. @module */
export { readMailFrom } from "./settings.ts";
