/** `rowhouse admin import-app`: restores an app from its archive, with the same ids, on this or another service. @module */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Database, ViolationError } from "../../db/mod.ts";
import { VALUES } from "../../kinds/mod.ts";
import { Problem } from "../../problem.ts";
import {
  type ArchivedApp,
  checkSlug,
  createApp,
  type RestoreStep,
  restoreReferences,
  restoreRows,
  setAppSwitch,
  setTargets,
  type Target,
} from "../../records/apps/mod.ts";
import { readValue } from "../../rows/mod.ts";
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { showCount } from "../../std/count.ts";
import { canonicalJson, isObject } from "../../std/json.ts";
import { jsonDepth, MAX_BODY_DEPTH } from "../../std/json_depth.ts";
import { parseExactJson } from "../../std/json_text.ts";
import { MOST_BATCH_BYTES } from "../../std/limits.ts";
import { isUuid } from "../../std/patterns.ts";
import { quote } from "../../std/quote.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { push, toMigrationStep } from "../../tables/mod.ts";
import { RejectedError, UsageError } from "../command.ts";
import { checkIsolation } from "../database.ts";
import { openLog } from "../settings.ts";
import { toPrintableLine } from "../terminal.ts";
import { type Archive, checkArchive, readBlocks, type TableDigests } from "./archive_file.ts";
import { command, typed } from "./command.ts";
import { countRows, findArchive, readTables } from "./export_app.ts";
import { type ImportPlan, planImport } from "./import_plan.ts";
import { applySettings, describeSettings, toSettingsJson } from "./import_settings.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

// Checks the values of an archive's rows by the rules of writes, before anything is written:
// otherwise apps read values that their types and the API's description exclude. The database
// checks required values, uniqueness and references.

/** Max reported errors. */
const MAX_ISSUES = 20;

/** @throws {RejectedError} with the first errors */
async function checkValues(path: string, { header }: Archive): Promise<void> {
  const tables = new Map(header.tables.map((table) => [table.name, table]));
  const issues: string[] = [];
  await readBlocks(path, async ({ table: name, rows }) => {
    const table = tables.get(name);
    if (table === undefined) return;
    for (const line of rows.lines.split("\n")) {
      if (line === "" || issues.length > MAX_ISSUES) continue;
      for (const issue of findIssues(table, line)) issues.push(`${name}: ${issue}`);
    }
  });
  if (issues.length === 0) return;
  const more = issues.length > MAX_ISSUES ? ["more values"] : [];
  throw new RejectedError(
    [
      "Cannot import values that writes reject. Nothing was written",
      ...issues.slice(0, MAX_ISSUES),
      ...more,
    ].join("\n  "),
  );
}

function findIssues({ columns }: TableDefinition, line: string): string[] {
  // A body of a request has the row as its first level.
  if (jsonDepth(line) > MAX_BODY_DEPTH)
    return [`a row is nested deeper than ${MAX_BODY_DEPTH} levels`];
  const row = readRow(line, columns);
  if (row === undefined) return ["a row is not a JSON object"];
  const { id } = row.exact;
  if (typeof id !== "string" || !isUuid(id)) return [`the id ${quote(String(id))} must be a uuid`];
  return columns.flatMap((column) => {
    const value = row[VALUES[column.kind].archived ?? "exact"][column.name] ?? null;
    const issue = value === null ? undefined : findIssue(value, column);
    return issue === undefined ? [] : [`row ${id}, ${column.name}: ${issue}`];
  });
}

/** The fields of a row, by how exactly their numbers are read. */
type RowFields = Record<"exact" | "rounded" | "decimals", Readonly<Record<string, unknown>>>;

function readRow(line: string, columns: readonly NamedColumn[]): RowFields | undefined {
  const decimals = new Set(
    columns.flatMap(({ kind, name }) => (VALUES[kind].archived === "decimals" ? name : [])),
  );
  const toText = (key: string, value: unknown, { source }: { source: string }) =>
    typeof value === "number" && decimals.has(key) ? source : value;
  try {
    const [exact, rounded] = [parseExactJson(line), JSON.parse(line)];
    const texts = JSON.parse(line, toText as Parameters<JSON["parse"]>[1]);
    return isObject(exact) ? { exact, rounded, decimals: texts } : undefined;
  } catch {
    return undefined; // the parser's own message quotes the row
  }
}

function findIssue(value: unknown, column: NamedColumn): string | undefined {
  const read = readValue(value, column);
  if ("issue" in read) return read.issue;
  const bytes = Buffer.byteLength(JSON.stringify(read.value));
  return bytes > MOST_BATCH_BYTES
    ? `Is ${bytes} bytes as JSON: a write accepts max ${MOST_BATCH_BYTES}`
    : undefined;
}

type Import = { path: string; archive: Archive; plan: ImportPlan };

/** The app stays disabled until the import is complete. */
async function runImport(deps: AdminDeps, { path, archive, plan }: Import): Promise<void> {
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

async function makeApp(deps: AdminDeps, { app, isThere, targets }: ImportPlan): Promise<void> {
  const urls = (kind: Target["kind"]) =>
    targets.filter((target) => target.kind === kind).map(({ url }) => url);
  const typed = { origins: urls("origin"), redirects: urls("redirect") };
  const cookieDomain = deps.config.COOKIE_DOMAIN;
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
  deps: AdminDeps,
  { app, migrations, definition }: ImportPlan,
): Promise<void> {
  if (migrations.length === 0) return;
  const log = openLog(deps.config, deps.report);
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
  throw new RejectedError(
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
  return new RejectedError(
    `A row of ${table} violates a constraint of the table here (${error.violation.kind})`,
  );
}

function checkDigests(found: TableDigests, wanted: TableDigests): void {
  const wrong = Object.keys(wanted).filter(
    (name) => canonicalJson(found[name]) !== canonicalJson(wanted[name]),
  );
  if (wrong.length === 0) return;
  throw new RejectedError(`The stored rows of ${wrong.join(", ")} differ from the archive`);
}

/** Adds to the error how to remove the incomplete app. */
function explainRest(error: unknown, slug: string): unknown {
  const rest = `App ${slug} is incomplete and stays disabled: delete it with rowhouse admin delete-app ${quoteForShell(slug)}, then import again`;
  if (!(error instanceof RejectedError || error instanceof Problem)) return error;
  return Object.assign(error, { message: `${error.message}\n${rest}` });
}

function toResult({ header, tables }: Archive, plan: ImportPlan, isDryRun: boolean) {
  const { app, settings, skipped, targets } = plan;
  const rows = countRows(tables);
  const { roles } = header;
  const verb = isDryRun ? "Would import" : "Imported";
  return {
    document: {
      app: app.slug,
      id: app.id,
      rows,
      tables,
      targets: targets.map(({ url }) => url),
      skipped,
      settings: toSettingsJson(settings),
      roles,
      dryRun: isDryRun,
    },
    lines: [
      `${verb} ${plan.isThere ? "into" : "app"} ${app.slug} (${app.id}): ${showCount(header.tables.length, "table")}, ${showCount(rows, "row")}, ${showCount(header.migrations.length, "migration")}`,
      ...targets.map(({ kind, url }) => `  + ${kind} ${toPrintableLine(url)}`),
    ],
    notes: [
      ...plan.notes.map((notice) => `Notice: ${notice}`),
      ...describeSettings(settings),
      ...skipped.map(({ url, reason }) => `Not imported: ${toPrintableLine(url)} (${reason})`),
      ...roles.map(
        ({ email, role }) =>
          `Not imported: ${toPrintableLine(`${email} has the role ${role}`)}; use rowhouse admin grant`,
      ),
      ...(isDryRun ? [] : [`Next: rowhouse admin issue-key ${quoteForShell(app.slug)}`]),
    ],
  };
}

export const adminImportAppCommands = makeAdminCommands({
  "import-app": command("restores an app from an archive file, with the same row ids", {
    example: `rowhouse admin import-app wiki.archive
rowhouse admin import-app wiki.archive --as wiki-copy --dry-run
rowhouse admin import-app wiki.archive --into wiki-next`,
    about: `First checks the digests and values of the whole archive and plans all migrations. Conflicts with other apps' tables are
listed before anything is written. Rows keep their ids. The app is disabled until all rows are stored and their digests match. Limits are
imported, and live updates if this service has them. Origins outside COOKIE_DOMAIN, the list of people and roles are listed,
but not imported; issue new keys. Each imported origin and redirect is listed after a plus sign. An existing app needs --into: it
must have no tables, and keeps its own limits, origins and redirects. Prints
{ app, id, rows, tables, targets, skipped, settings, roles, dryRun } with --json.`,
    args: { file: typed },
    flags: {
      as: { value: "slug", about: "another name for the new app" },
      into: { value: "slug", about: "import into this existing app" },
      targets: { about: "with --into: also add the origins and redirects of the archive" },
      "dry-run": { about: "check the archive and plan; write nothing" },
    },
    run: async (deps, { file, as, into, targets: addsTargets, "dry-run": isDryRun }) => {
      const path = resolve(deps.folder, file);
      if (!existsSync(path)) throw new RejectedError(`File not found: ${file}`);
      const archive = await checkArchive(path);
      if (into !== undefined && as !== undefined)
        throw new UsageError("Use either --as, for a new app, or --into, for an existing app");
      if (into === undefined && addsTargets)
        throw new UsageError(
          "Flag --targets requires --into: a new app gets the addresses of the archive",
        );
      const slug = into ?? as ?? archive.header.slug;
      checkSlug(slug);
      await checkIsolation(deps.admin);
      await checkValues(path, archive);
      const options = { path, slug, isInto: into !== undefined, addsTargets };
      const plan = await planImport(deps, archive, options);
      if (!isDryRun) await runImport(deps, { path, archive, plan });
      return toResult(archive, plan, isDryRun);
    },
  }),
});
