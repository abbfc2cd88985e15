/** Reads the configuration from an environment, or reports all errors. Never shows a value: it can be a secret. @module */
import * as v from "valibot";
import type { ProviderSettings } from "../identity/mod.ts";
import { type Environment, PLACE_KEY, readVariable } from "./environment.ts";
import type { Setting } from "./forms.ts";
import { readProviders } from "./providers.ts";
import { findRoleFaults } from "./role_needs.ts";
import { SETTINGS, type SettingName } from "./settings.ts";

export type Config = {
  readonly [Name in SettingName]: v.InferOutput<(typeof SETTINGS)[Name]["form"]>;
} & {
  /** From the settings `OIDC_<NAME>_…`. */
  readonly providers: readonly ProviderSettings[];
};

/** Whether to check the settings that ROLE requires: `migrate` only reads the role. */
type ReadOptions = { checksRole?: boolean };

/** All errors, and the valid settings. */
type Faulty = { faults: string[]; sound: Partial<Config> };

/** The configuration, or all errors: the variable and the expected value, never the actual value. */
export function readConfig(
  env: Environment,
  { checksRole = true }: ReadOptions = {},
): { config: Config } | Faulty {
  const faults: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const parsed = v.safeParse(setting.form, readVariable(env, name) ?? setting.initial);
    if (parsed.success) config[name] = parsed.output;
    else faults.push(`${name} ${parsed.issues[0].message}`);
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith("ROWHOUSE_") && !(name in SETTINGS) && !PLACE_KEY.test(name))
      faults.push(`${name} is not a setting: see .env.example`);
  }
  const providers = readProviders(env);
  config["providers"] = providers.settings;
  faults.push(...providers.faults);
  if (checksRole) faults.push(...findRoleFaults(env));
  return faults.length > 0 ? { faults, sound: config } : { config: config as Config };
}
