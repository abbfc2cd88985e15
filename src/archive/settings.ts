/**
 * The operator's settings of an archived app. Limits, and settings without which the app behaves differently, are imported. The
 * others are only reported, such as the list of people: it shows people to each other, so the operator of this service decides.
 *
 * @module
 */

import {
  type AppSwitchName,
  describeSwitch,
  findSwitch,
  toCamel,
  toDashed,
} from "../app_switch.ts";
import { type Database, readDialect } from "../db/mod.ts";
import { type AppLimits, type ArchivedApp, setAppSwitch, setLimit } from "../records/apps/mod.ts";
import { quoteForShell } from "../std/quote_shell.ts";
import type { ArchiveHeader } from "./file.ts";

export type SettingsPlan = {
  /** Absent if the limits of the app do not change. */
  limits?: AppLimits;
  on: AppSwitchName[];
  skipped: { setting: "limits" | AppSwitchName; reason: string }[];
};

type Target = {
  slug: string;
  /** The app that is imported into, if it exists. */
  found: Pick<ArchivedApp, "limits" | "switches"> | undefined;
};

export async function planSettings(
  { admin }: { admin: Database },
  { limits, on }: Pick<ArchiveHeader, "limits" | "on">,
  { slug, found }: Target,
): Promise<SettingsPlan> {
  const plan: SettingsPlan = { on: [], skipped: [] };
  if (hasLimit(limits) && found !== undefined && hasLimit(found.limits))
    plan.skipped.push({ setting: "limits", reason: `${slug} has its own limits` });
  else if (hasLimit(limits)) plan.limits = limits;
  for (const setting of on.flatMap((name) => findSwitch(name) ?? [])) {
    if (found?.switches[setting] === true) continue;
    const reason = await findBlocker(admin, setting, slug);
    if (reason === undefined) plan.on.push(setting);
    else plan.skipped.push({ setting, reason });
  }
  return plan;
}

async function findBlocker(
  admin: Database,
  setting: AppSwitchName,
  slug: string,
): Promise<string | undefined> {
  const { archived, notOnCluster } = describeSwitch(setting);
  const use = `use rowhouse admin set-app ${quoteForShell(slug)} ${quoteForShell(toDashed(setting))} on`;
  if (archived !== "imported") return use;
  return (await readDialect(admin)).hasNodes ? notOnCluster : undefined;
}

function hasLimit({ perMinute, perMinuteOfKey }: AppLimits): boolean {
  return perMinute !== null || perMinuteOfKey !== null;
}

export async function applySettings(
  deps: { admin: Database },
  slug: string,
  { limits, on }: SettingsPlan,
): Promise<void> {
  if (limits !== undefined)
    await setLimit(deps, {
      slug,
      perMinute: limits.perMinute ?? undefined,
      perMinuteOfKey: limits.perMinuteOfKey ?? undefined,
    });
  for (const setting of on) await setAppSwitch(deps, slug, [setting, true]);
}

/** The plan as JSON, with the names of settings in JSON. */
export function toSettingsJson({ on, skipped, ...limits }: SettingsPlan) {
  return {
    ...limits,
    on: on.map(toCamel),
    skipped: skipped.map(({ setting, reason }) => ({
      setting: setting === "limits" ? setting : toCamel(setting),
      reason,
    })),
  };
}

/** One line for each setting that is imported or skipped. */
export function describeSettings({ limits, on, skipped }: SettingsPlan): string[] {
  const show = (limit: number | null) => limit ?? "default";
  return [
    ...(limits === undefined
      ? []
      : [
          `Notice: requests per minute as in the archive: ${show(limits.perMinute)}, per key ${show(limits.perMinuteOfKey)}`,
        ]),
    ...on.map((setting) => `Notice: on as in the archive: ${toTitle(setting)}`),
    ...skipped.map(({ setting, reason }) => `Not imported: ${toTitle(setting)} (${reason})`),
  ];
}

function toTitle(setting: "limits" | AppSwitchName): string {
  return setting === "limits" ? setting : describeSwitch(setting).title.toLowerCase();
}
