/** The pure part of this module, used by the settings. @module */
export { readMailFrom } from "./settings.ts";
