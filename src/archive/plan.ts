/** Plans the import of an archive, and finds every blocker before anything is written. @module */

import { APP_SWITCH_NAMES, describeSwitch, toDashed } from "../app_switch.ts";
import { Problem } from "../problem.ts";
import {
  describeArchive,
  planRestore,
  type RestoreStep,
  readTarget,
  type Target,
} from "../records/apps/mod.ts";
import { quoteForShell } from "../std/quote_shell.ts";
import { type PushResult, push, toMigrationStep } from "../tables/mod.ts";
import type { ArchiveDeps } from "./deps.ts";
import { type Archive, ArchiveError } from "./file.ts";
import { type ArchivedHistory, readHistory } from "./history.ts";
import { planSettings, type SettingsPlan } from "./settings.ts";

/** The plan of an import without blockers. */
export type ImportPlan = ArchivedHistory & {
  app: { id: string; slug: string };
  /** Whether the app already exists, without tables. */
  isThere: boolean;
  /** Whether the existing app is disabled. It stays disabled. */
  isDisabled: boolean;
  steps: RestoreStep[];
  targets: Target[];
  skipped: { url: string; reason: string }[];
  settings: SettingsPlan;
  /** Notices of the migrations, such as a table shared with another app. */
  notes: string[];
};

type ImportOptions = {
  path: string;
  slug: string;
  /** Whether the operator selected an existing app. */
  isInto: boolean;
  /** Whether an existing app gets the addresses of the archive. */
  addsTargets: boolean;
};

/** @throws {ArchiveError} the import has a blocker; nothing was written */
export async function planImport(
  deps: ArchiveDeps,
  { header, tables }: Archive,
  { path, slug, isInto, addsTargets }: ImportOptions,
): Promise<ImportPlan> {
  const found = await describeArchive(deps, slug);
  if (isInto && found === undefined) throw new ArchiveError(`App ${slug} does not exist`);
  // The author of the archive chooses its name: it must not select an app of this service.
  if (!isInto && found !== undefined)
    throw new ArchiveError(
      `App ${slug} already exists: choose another name with --as, or import into it with --into ${quoteForShell(slug)}`,
    );
  if (found !== undefined && found.tables.length + found.migrations.length > 0)
    throw new ArchiveError(
      `App ${slug} has tables or migrations: choose an app without tables, or another name with --as`,
    );
  const stopped = APP_SWITCH_NAMES.find(
    (name) => found?.switches[name] === true && describeSwitch(name).stops !== undefined,
  );
  if (stopped !== undefined)
    throw new ArchiveError(
      `App ${slug} accepts no rows: run rowhouse admin set-app ${quoteForShell(slug)} ${quoteForShell(toDashed(stopped))} off first`,
    );
  const filled = header.tables.filter(({ name }) => (tables[name]?.rows ?? 0) > 0);
  const { steps, blockers } = planRestore(filled);
  if (blockers.length > 0)
    throw new ArchiveError(
      `Cannot import tables that require each other's rows through ${blockers.join(", ")}: make the reference optional, push, and export the app again`,
    );
  const app = { id: found?.id ?? deps.makeId(), slug };
  const history = await readHistory(path, header, app.id);
  const { migrations, definition } = history;
  const plan =
    migrations.length === 0
      ? undefined
      : await deps.withPush((admin) =>
          push(
            { admin, log: deps.log },
            {
              app,
              steps: [
                ...migrations.map((migration) => toMigrationStep(migration, definition)),
                { kind: "define", definition },
              ],
              options: { dryRun: true },
            },
          ),
        );
  const sorted = sortTargets(header.targets, deps.cookieDomain);
  const addresses = found === undefined || addsTargets ? sorted : skipTargets(sorted, slug);
  return {
    app,
    isThere: found !== undefined,
    isDisabled: found?.switches.disabled === true,
    steps,
    ...history,
    notes: listNotices(plan),
    settings: await planSettings(deps, header, { slug, found }),
    ...addresses,
  };
}

function listNotices(plan: PushResult | undefined): string[] {
  const notes = plan?.earlier.flatMap((migration) => migration.notes) ?? [];
  return [...new Set([...notes, ...(plan?.notes ?? [])])];
}

/** An existing app keeps its own addresses: sign-ins would end at those of the archive. */
function skipTargets(
  { targets, skipped }: Pick<ImportPlan, "targets" | "skipped">,
  slug: string,
): Pick<ImportPlan, "targets" | "skipped"> {
  const reason = `${slug} keeps its own addresses; --targets adds those of the archive`;
  return { targets: [], skipped: [...skipped, ...targets.map(({ url }) => ({ url, reason }))] };
}

/** Skips origins outside the cookie domain: they would not work. */
function sortTargets(
  { origins, redirects }: Archive["header"]["targets"],
  cookieDomain: string | undefined,
): Pick<ImportPlan, "targets" | "skipped"> {
  const typed = [
    ...origins.map((url) => ({ kind: "origin" as const, url })),
    ...redirects.map((url) => ({ kind: "redirect" as const, url })),
  ];
  const targets: Target[] = [];
  const skipped: ImportPlan["skipped"] = [];
  for (const { kind, url } of typed) {
    try {
      targets.push(readTarget(kind, url, cookieDomain));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      skipped.push({ url, reason: error.message });
    }
  }
  return { targets, skipped };
}
