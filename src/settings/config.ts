/** The checked configuration, by the names of the settings. @module */
import type * as v from "valibot";
import type { ProviderSettings } from "../identity/mod.ts";
import type { SETTINGS, SettingName } from "./settings.ts";

export type Config = {
  readonly [Name in SettingName]: v.InferOutput<(typeof SETTINGS)[Name]["form"]>;
} & {
  /** From the settings `OIDC_<NAME>_…`. */
  readonly providers: readonly ProviderSettings[];
};
