/** The pure part of this module, for settings. @module */
export { DEFAULT_SETTINGS } from "./settings.ts";
