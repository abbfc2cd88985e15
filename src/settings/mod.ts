/**
 * The only reader of the environment. `.env.example` and docs/operating.md are generated from its table of settings.
 * Reports all errors together, and never a value: it can be a secret.
 *
 * @module
 */

export {
  type Environment,
  isGiven,
  readEnvironmentKey,
  readRole,
  readVariable,
  toFileVariable,
  toKeyVariable,
} from "./environment.ts";
export { PROVIDER_SETTINGS } from "./providers.ts";
export { type Config, readConfig } from "./read_config.ts";
export { forwards } from "./role_needs.ts";
export { dropConsequences, readSecretFiles } from "./secret_files.ts";
export { SETTINGS, type SettingName } from "./settings.ts";
