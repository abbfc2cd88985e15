/** `rowhouse admin export-app` and `import-app`: an app with its rows in one file. @module */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  type Archive,
  type ArchiveDeps,
  ArchiveError,
  checkArchive,
  checkValues,
  countRows,
  describeSettings,
  exportRows,
  findArchive,
  type ImportPlan,
  planImport,
  runImport,
  toSettingsJson,
} from "../../archive/mod.ts";
import { checkSlug } from "../../records/apps/mod.ts";
import { showCount } from "../../std/count.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { RejectedError, UsageError } from "../command.ts";
import { checkIsolation } from "../database.ts";
import { openLog } from "../settings.ts";
import { toPrintableLine } from "../terminal.ts";
import { command, typed } from "./command.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

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

function toArchiveDeps(deps: AdminDeps): ArchiveDeps {
  const { config, report } = deps;
  return { ...deps, cookieDomain: config.COOKIE_DOMAIN, log: openLog(config, report) };
}

/** Rejects the command for the reason of an {@linkcode ArchiveError}. */
function rejecting<Args extends readonly unknown[], Result>(
  run: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    try {
      return await run(...args);
    } catch (error) {
      throw error instanceof ArchiveError ? new RejectedError(error.message) : error;
    }
  };
}

export const adminArchiveCommands = makeAdminCommands({
  "export-app": command("writes an app with its rows to an archive file", {
    example: "rowhouse admin export-app wiki wiki.archive",
    about: `The archive has the app's tables, migrations, rows with their ids, origins, redirects, settings and roles, but no keys.
Only the owner of the file can read it. The export fails if the app changes during it: disable the app first. Reads rows with the
login of ROWS_DATABASE_URL, or with a temporary login. Prints { app, file, rows, tables } with --json.`,
    args: { slug: typed, file: typed },
    run: rejecting(async (deps: AdminDeps, { slug, file }: { slug: string; file: string }) => {
      const path = resolve(deps.folder, file);
      if (existsSync(path))
        throw new RejectedError(`File ${file} already exists: choose another name`);
      await checkIsolation(deps.admin);
      const app = await findArchive(deps, slug);
      const tables = await deps.withRows((rows) => exportRows({ ...deps, rows }, app, path));
      const rows = countRows(tables);
      return {
        document: { app: slug, file, rows, tables },
        lines: [
          `Wrote ${file}: ${showCount(app.tables.length, "table")}, ${showCount(rows, "row")}, ${showCount(app.migrations.length, "migration")}`,
        ],
        notes: [
          `Notice: ${file} has all rows of ${slug} and the addresses of people with a role, but no keys`,
        ],
      };
    }),
  }),
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
    run: rejecting(async (deps, { file, as, into, targets: addsTargets, "dry-run": isDryRun }) => {
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
      const plan = await planImport(toArchiveDeps(deps), archive, options);
      if (!isDryRun) await runImport(toArchiveDeps(deps), { path, archive, plan });
      return toResult(archive, plan, isDryRun);
    }),
  }),
});
