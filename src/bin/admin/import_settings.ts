/**
 * The operator's settings of an archived app. Limits and live updates are imported: without them the app behaves differently. The
 * list of people is not imported: it shows people to each other, so the operator of this service decides.
 *
 * @module
 */
import { type AppSettings, setAppSwitch, setLimit } from "../../accounts/apps/mod.ts";
import { type Database, isDistributed, readPreviews } from "../../db/mod.ts";
import { quoteForShell } from "../../std/quote_for_shell.ts";

export type SettingsPlan = {
  /** Absent if the limits of the app do not change. */
  limits?: Pick<AppSettings, "perMinute" | "perMinuteOfKey">;
  live: boolean;
  skipped: { setting: "limits" | "live" | "peopleList"; reason: string }[];
};

type Target = {
  slug: string;
  /** The settings of the app that is imported into, if it exists. */
  found: AppSettings | undefined;
};

export async function planSettings(
  { admin }: { admin: Database },
  { perMinute, perMinuteOfKey, isLive, listsPeople }: AppSettings,
  { slug, found }: Target,
): Promise<SettingsPlan> {
  const plan: SettingsPlan = { live: false, skipped: [] };
  const limits = { perMinute, perMinuteOfKey };
  if (hasLimit(limits) && found !== undefined && hasLimit(found))
    plan.skipped.push({ setting: "limits", reason: `${slug} has its own limits` });
  else if (hasLimit(limits)) plan.limits = limits;
  if (isLive && found?.isLive !== true) {
    const reason = await findLiveBlocker(admin, slug);
    plan.live = reason === undefined;
    if (reason !== undefined) plan.skipped.push({ setting: "live", reason });
  }
  if (listsPeople && found?.listsPeople !== true)
    plan.skipped.push({
      setting: "peopleList",
      reason: `use rowhouse admin set-app ${quoteForShell(slug)} people-list on`,
    });
  return plan;
}

async function findLiveBlocker(admin: Database, slug: string): Promise<string | undefined> {
  if (await isDistributed(admin)) return "a Citus cluster has no event streams";
  if ((await readPreviews(admin)).includes("live")) return undefined;
  return `requires PREVIEW=live; then use rowhouse admin set-app ${quoteForShell(slug)} live on`;
}

function hasLimit({
  perMinute,
  perMinuteOfKey,
}: Pick<AppSettings, "perMinute" | "perMinuteOfKey">): boolean {
  return perMinute !== null || perMinuteOfKey !== null;
}

export async function applySettings(
  deps: { admin: Database },
  slug: string,
  { limits, live }: SettingsPlan,
): Promise<void> {
  if (limits !== undefined)
    await setLimit(deps, {
      slug,
      perMinute: limits.perMinute ?? undefined,
      perMinuteOfKey: limits.perMinuteOfKey ?? undefined,
    });
  if (live) await setAppSwitch(deps, slug, ["live", true]);
}

const NAMES = { limits: "limits", live: "live updates", peopleList: "the list of people" } as const;

/** One line for each setting that is imported or skipped. */
export function describeSettings({ limits, live, skipped }: SettingsPlan): string[] {
  const show = (limit: number | null) => limit ?? "default";
  return [
    ...(limits === undefined
      ? []
      : [
          `Notice: requests per minute as in the archive: ${show(limits.perMinute)}, per key ${show(limits.perMinuteOfKey)}`,
        ]),
    ...(live ? ["Notice: live updates are on, as in the archive"] : []),
    ...skipped.map(({ setting, reason }) => `Not imported: ${NAMES[setting]} (${reason})`),
  ];
}
