/** Restores an app from its archive, with the same ids, on this or another service. @module */
import { type Database, ViolationError } from "../db/mod.ts";
import {
  type ArchivedApp,
  createApp,
  type RestoreStep,
  restoreReferences,
  restoreRows,
  setAppSwitch,
  setTargets,
  type Target,
} from "../records/apps/mod.ts";
import { canonicalJson } from "../std/json.ts";
import { quoteForShell } from "../std/quote_shell.ts";
import { push, toMigrationStep } from "../tables/mod.ts";
import type { ArchiveDeps } from "./deps.ts";
import { findArchive, readTables } from "./export.ts";
import { type Archive, ArchiveError, readBlocks, type TableDigests } from "./file.ts";
import type { ImportPlan } from "./plan.ts";
import { applySettings } from "./settings.ts";

type Import = { path: string; archive: Archive; plan: ImportPlan };

/** The app stays disabled until the import is complete. */
export async function runImport(deps: ArchiveDeps, { path, archive, plan }: Import): Promise<void> {
  const { app } = plan;
  await makeApp(deps, plan);
  await setAppSwitch(deps, app.slug, ["disabled", true]);
  try {
    await replayAll(deps, plan);
    checkTables(await findArchive(deps, app.slug), archive);
    await deps.withRows(async (rows) => {
      await storeRows({ ...deps, rows }, { path, archive, plan });
      const { tables } = archive.header;
      checkDigests(await readTables({ ...deps, rows }, { id: app.id, tables }), archive.tables);
    });
    await applySettings(deps, app.slug, plan.settings);
  } catch (error) {
    throw explainRest(error, app.slug);
  }
  if (!plan.isDisabled) await setAppSwitch(deps, app.slug, ["disabled", false]);
}

async function makeApp(deps: ArchiveDeps, { app, isThere, targets }: ImportPlan): Promise<void> {
  const urls = (kind: Target["kind"]) =>
    targets.filter((target) => target.kind === kind).map(({ url }) => url);
  const typed = { origins: urls("origin"), redirects: urls("redirect") };
  const cookieDomain = deps.cookieDomain;
  if (isThere)
    await setTargets(deps, {
      slug: app.slug,
      replaced: [],
      add: typed,
      remove: { origins: [], redirects: [] },
      cookieDomain,
    });
  else
    await createApp({ ...deps, makeId: () => app.id }, { slug: app.slug, ...typed, cookieDomain });
}

async function replayAll(
  deps: ArchiveDeps,
  { app, migrations, definition }: ImportPlan,
): Promise<void> {
  if (migrations.length === 0) return;
  const { log } = deps;
  await deps.withPush(async (admin) => {
    for (const migration of migrations) {
      const steps = [toMigrationStep(migration, definition)];
      const { deferred } = await push({ admin, log }, { app, steps, options: { dryRun: false } });
      await deferred;
    }
  });
}

/**
 * Checks that the app has the tables and columns of the archive here. The migrations can create more, such as a table whose
 * use an operator ended.
 */
function checkTables({ tables }: ArchivedApp, { header }: Archive): void {
  const listColumns = (list: Archive["header"]["tables"]) =>
    list.flatMap(({ name, columns }) =>
      columns.map((column) =>
        canonicalJson([name, column.name, column.kind, column.table ?? null]),
      ),
    );
  const there = new Set(listColumns(tables));
  if (listColumns(header.tables).every((column) => there.has(column))) return;
  throw new ArchiveError(
    "The tables that the migrations create here differ from the tables of the archive",
  );
}

async function storeRows(
  { rows }: { rows: Database },
  { path, plan: { app, steps } }: Import,
): Promise<void> {
  const isAnyEmpty = steps.some(({ empty }) => empty.length > 0);
  const byName = new Map(steps.map((step) => [step.table.name, step]));
  const store = async (step: RestoreStep, lines: string) => {
    await restoreRows(rows, { app: app.id, ...step, lines });
  };
  const link = async (step: RestoreStep, lines: string) => {
    if (step.empty.length > 0) await restoreReferences(rows, { app: app.id, ...step, lines });
  };
  for (const task of isAnyEmpty ? [store, link] : [store])
    await readBlocks(path, async (block) => {
      const step = byName.get(block.table);
      if (step === undefined) return;
      await task(step, block.rows.lines).catch((error: unknown) => {
        throw explainViolation(error, block.table);
      });
    });
}

function explainViolation(error: unknown, table: string): unknown {
  if (!(error instanceof ViolationError)) return error;
  return new ArchiveError(
    `A row of ${table} violates a constraint of the table here (${error.violation.kind})`,
  );
}

function checkDigests(found: TableDigests, wanted: TableDigests): void {
  const wrong = Object.keys(wanted).filter(
    (name) => canonicalJson(found[name]) !== canonicalJson(wanted[name]),
  );
  if (wrong.length === 0) return;
  throw new ArchiveError(`The stored rows of ${wrong.join(", ")} differ from the archive`);
}

/** Adds to the error how to remove the incomplete app. */
function explainRest(error: unknown, slug: string): unknown {
  const rest = `App ${slug} is incomplete and stays disabled: delete it with rowhouse admin delete-app ${quoteForShell(slug)}, then import again`;
  // Also after a signal: the command has an error of its own for it.
  if (!(error instanceof Error)) return error;
  return Object.assign(error, { message: `${error.message}\n${rest}` });
}
