/**
 * The only reader of the environment. `.env.example` is generated from its table of settings.
 * Reports all errors together, and never a value: it can be a secret.
 *
 * @module
 */

import * as v from "valibot";
import type { Config } from "./config.ts";
import { ENVIRONMENT_KEY, type Environment, readVariable } from "./environment.ts";
import type { Setting } from "./forms.ts";
import { readProviders } from "./providers.ts";
import { findRoleIssues } from "./role_needs.ts";
import { dropConsequences, readSecretFiles } from "./secret_files.ts";
import { SETTINGS } from "./settings.ts";

export type { Config } from "./config.ts";
export { findConflicts, OWN_LOGINS, type SoundSettings } from "./conflicts.ts";
export { findLostText } from "./env_file.ts";
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
export { findRemoved, REMOVED_SETTINGS } from "./removed_settings.ts";
export { forwards } from "./role_needs.ts";
export { dropConsequences, readSecretFiles } from "./secret_files.ts";
export { SETTINGS, type SettingName } from "./settings.ts";

/** `checksRole`: whether to check the settings that ROLE requires. Commands do not need them. */
type ReadOptions = { checksRole?: boolean };

/** All errors, and the valid settings. */
type Broken = { issues: string[]; sound: Partial<Config> };

/** The configuration, or all errors: the variable and the expected value, never the actual value. */
export function readConfig(
  given: Environment,
  { checksRole = true }: ReadOptions = {},
): { config: Config } | Broken {
  const { env, issues: ofFiles } = readSecretFiles(given);
  const issues: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const parsed = v.safeParse(setting.form, readVariable(env, name) ?? setting.initial);
    if (parsed.success) config[name] = parsed.output;
    else issues.push(`${name} ${parsed.issues[0].message}`);
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith("ROWHOUSE_") && !(name in SETTINGS) && !ENVIRONMENT_KEY.test(name))
      issues.push(`${name} is not a setting: see .env.example`);
  }
  const providers = readProviders(env);
  config["providers"] = providers.settings;
  issues.push(...providers.issues);
  if (checksRole) issues.push(...findRoleIssues(env));
  const all = dropConsequences([...ofFiles, ...issues]);
  return all.length > 0 ? { issues: all, sound: config } : { config: config as Config };
}
