/** `rowhouse admin export-app`: writes an app with its rows to one file. @module */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { listArchived, toDashed } from "../../app_switch.ts";
import type { Database } from "../../db/mod.ts";
import { unknownApp } from "../../records/actions/mod.ts";
import {
  type ArchivedApp,
  describeArchive,
  orderTables,
  readRowLines,
} from "../../records/apps/mod.ts";
import { showCount } from "../../std/count.ts";
import { canonicalJson } from "../../std/json.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { RejectedError } from "../command.ts";
import { checkIsolation } from "../database.ts";
import {
  makeTableDigest,
  type TableDigest,
  type TableDigests,
  type WriteBlock,
  writeArchive,
} from "./archive_file.ts";
import { command, typed } from "./command.ts";
import { type AdminDeps, makeAdminCommands } from "./task.ts";

/** @throws {Problem} unknown_app */
export async function findArchive(deps: { admin: Database }, slug: string): Promise<ArchivedApp> {
  const app = await describeArchive(deps, slug);
  if (app !== undefined) return { ...app, tables: orderTables(app.tables) };
  throw unknownApp(slug);
}

export function countRows(tables: TableDigests): number {
  return Object.values(tables).reduce((sum, { rows }) => sum + rows, 0);
}

async function exportRows(
  deps: AdminDeps & { rows: Database },
  app: ArchivedApp,
  path: string,
): Promise<TableDigests> {
  const { slug, targets, limits, switches, roles, tables, migrations } = app;
  let written: TableDigests = {};
  const on = listArchived(switches).map(toDashed);
  const header = { slug, targets, limits, on, roles, tables, migrations };
  await writeArchive(path, header, async (writeBlock) => {
    written = await readTables(deps, app, writeBlock);
    if (!app.switches.disabled) await checkUnchanged(deps, app, written);
    return written;
  });
  return written;
}

/** Returns the digests of all tables; `onRows` receives the rows. */
export async function readTables(
  { rows, report }: Pick<AdminDeps, "report"> & { rows: Database },
  { id, tables }: Pick<ArchivedApp, "id" | "tables">,
  onRows: WriteBlock = async () => undefined,
): Promise<TableDigests> {
  const digests: [string, TableDigest][] = [];
  for (const table of tables) {
    const digest = makeTableDigest();
    for await (const part of readRowLines(rows, { app: id, table })) {
      digest.add(part);
      await onRows(table.name, part);
    }
    const end = digest.end();
    digests.push([table.name, end]);
    if (end.rows >= REPORTED_ROWS) report(`${table.name}: ${showCount(end.rows, "row")}`);
  }
  return Object.fromEntries(digests);
}

/** Smaller tables are read too fast to report. */
const REPORTED_ROWS = 100_000;

/**
 * Each statement has its own snapshot. If every table is unchanged after all tables were read, the file is one consistent
 * snapshot.
 */
async function checkUnchanged(
  deps: AdminDeps & { rows: Database },
  app: ArchivedApp,
  written: TableDigests,
): Promise<void> {
  const now = await findArchive(deps, app.slug);
  const again = await readTables(deps, app);
  if (
    canonicalJson({ ...now }) === canonicalJson({ ...app }) &&
    canonicalJson(again) === canonicalJson(written)
  )
    return;
  throw new RejectedError(
    `${app.slug} changed during the export, so the archive would be inconsistent: run rowhouse admin set-app ${quoteForShell(app.slug)} disabled on first, then export it again`,
  );
}

export const adminExportAppCommands = makeAdminCommands({
  "export-app": command("writes an app with its rows to an archive file", {
    example: "rowhouse admin export-app wiki wiki.archive",
    about: `The archive has the app's tables, migrations, rows with their ids, origins, redirects, settings and roles, but no keys.
Only the owner of the file can read it. The export fails if the app changes during it: disable the app first. Reads rows with the
login of ROWS_DATABASE_URL, or with a temporary login. Prints { app, file, rows, tables } with --json.`,
    args: { slug: typed, file: typed },
    run: async (deps, { slug, file }) => {
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
    },
  }),
});
