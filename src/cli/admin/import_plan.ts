/** Plans the import of an archive, and finds every blocker before anything is written. @module */

import { APP_SWITCH_NAMES, describeSwitch, toDashed } from "../../app_switch.ts";
import { Problem } from "../../problem.ts";
import {
  describeArchive,
  planRestore,
  type RestoreStep,
  readTarget,
  type Target,
} from "../../records/apps/mod.ts";
import type { Definition, TableDefinition } from "../../schema/mod.ts";
import { canonicalJson, tryParseJson } from "../../std/json.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import {
  type CheckedMigration as Migration,
  type PushResult,
  push,
  readTexts,
  toMigrationStep,
  workInPlace,
} from "../../tables/mod.ts";
import { changeDefinition } from "../../tables/plan/change.ts";
import { mergeDeclared } from "../../tables/plan/merge_table.ts";
import { RejectedError } from "../command.ts";
import { hasChanged } from "../db/change_schema.ts";
import { openLog } from "../settings.ts";
import { type Archive, type ArchiveHeader, readBlocks } from "./archive_file.ts";
import { planSettings, type SettingsPlan } from "./import_settings.ts";
import type { AdminDeps } from "./task.ts";

// Reads an archive's migrations for their replay, after which the app has the archive's tables.
// Writes nothing.

/** `definition`: the tables of the archive. The last migration is planned with this definition. */
type ArchivedHistory = { migrations: Migration[]; definition: Definition };

async function readHistory(
  path: string,
  header: ArchiveHeader,
  appId: string,
): Promise<ArchivedHistory> {
  const migrations: Migration[] = [];
  for (const file of header.migrations) migrations.push(await readMigration(file, appId));
  const definition = await readTables(path, header.tables, migrations);
  const last = migrations.pop();
  if (last !== undefined) migrations.push(endWith(last, definition));
  return { migrations, definition };
}

async function readMigration(
  file: ArchiveHeader["migrations"][number],
  appId: string,
): Promise<Migration> {
  if (typeof file === "string") {
    const [read] = await readTexts(workInPlace, [{ text: file, path: "" }], appId);
    if (read === undefined) throw new Error("The migration was not read");
    return read;
  }
  const migration = await readMigration(file.text, appId);
  const { definition } = migration;
  const joins = await readTexts(
    workInPlace,
    file.joins.map((text) => ({ text, path: "" })),
    appId,
  );
  // The join also created what only the joined migrations declare.
  return { ...migration, joins, definition: mergeDeclared([...joins, { definition }]) };
}

/** The last migration with this definition; without its change if the tables lack it, because another app owned the table. */
function endWith({ change, ...last }: Migration, definition: Definition): Migration {
  const isApplied =
    change !== undefined &&
    canonicalJson(changeDefinition(definition, change)) === canonicalJson(definition);
  return { ...last, definition, ...(isApplied ? { change } : {}) };
}

/**
 * The archive's tables. Omits enum values that a migration dropped and no row has: if the app owns the table here, they would
 * block the project's next push.
 */
async function readTables(
  path: string,
  tables: readonly TableDefinition[],
  migrations: readonly Migration[],
): Promise<Definition> {
  const omitted = findDroppedValues(tables, migrations);
  if (omitted.size > 0)
    await readBlocks(path, async ({ table, rows }) => {
      for (const line of rows.lines.split("\n"))
        for (const [column, value] of Object.entries(Object(tryParseJson(line))))
          omitted.delete(toPath({ table, column, value }));
    });
  const declared = tables.map(({ name: table, columns, ...lists }) => ({
    ...lists,
    name: table,
    columns: columns.map(({ values, ...column }) => {
      if (values === undefined) return column;
      const isLeft = (value: string) => !omitted.has(toPath({ table, column: column.name, value }));
      return { ...column, values: values.filter(isLeft) };
    }),
  }));
  return { version: 1, tables: declared.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** The dropped values that the tables still have. */
function findDroppedValues(
  tables: readonly TableDefinition[],
  migrations: readonly Migration[],
): Set<string> {
  const [here, merged] = [{ version: 1, tables } as const, mergeDeclared(migrations)];
  const dropped = migrations.flatMap(({ change }) =>
    change?.kind === "drop_value" && hasChanged(here, change) && !hasChanged(merged, change)
      ? [toPath(change)]
      : [],
  );
  return new Set(dropped);
}

type EnumValue = { table: string; column: string; value: unknown };

function toPath({ table, column, value }: EnumValue): string {
  return JSON.stringify([table, column, value]);
}

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

/** @throws {RejectedError} the import has a blocker; nothing was written */
export async function planImport(
  deps: AdminDeps,
  { header, tables }: Archive,
  { path, slug, isInto, addsTargets }: ImportOptions,
): Promise<ImportPlan> {
  const found = await describeArchive(deps, slug);
  if (isInto && found === undefined) throw new RejectedError(`App ${slug} does not exist`);
  // The author of the archive chooses its name: it must not select an app of this service.
  if (!isInto && found !== undefined)
    throw new RejectedError(
      `App ${slug} already exists: choose another name with --as, or import into it with --into ${quoteForShell(slug)}`,
    );
  if (found !== undefined && found.tables.length + found.migrations.length > 0)
    throw new RejectedError(
      `App ${slug} has tables or migrations: choose an app without tables, or another name with --as`,
    );
  const stopped = APP_SWITCH_NAMES.find(
    (name) => found?.switches[name] === true && describeSwitch(name).stops !== undefined,
  );
  if (stopped !== undefined)
    throw new RejectedError(
      `App ${slug} accepts no rows: run rowhouse admin set-app ${quoteForShell(slug)} ${quoteForShell(toDashed(stopped))} off first`,
    );
  const filled = header.tables.filter(({ name }) => (tables[name]?.rows ?? 0) > 0);
  const { steps, blockers } = planRestore(filled);
  if (blockers.length > 0)
    throw new RejectedError(
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
            { admin, log: openLog(deps.config, deps.report) },
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
  const sorted = sortTargets(header.targets, deps.config.COOKIE_DOMAIN);
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
