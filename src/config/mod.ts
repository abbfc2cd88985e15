/**
 * The only reader of the environment: settings as a table of name, form, default and meaning, from which the page
 * and `.env.example` are generated. Reports all faults at once, and never a value: it may be a secret.
 *
 * @module
 */

export { type Environment, readPlaceKey, toKeyVariable } from "./environment.ts";
export { PROVIDER_SETTINGS } from "./providers.ts";
export { type Config, readConfig } from "./read_config.ts";
export { SETTINGS, type SettingName } from "./settings.ts";
