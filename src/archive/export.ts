/** Writes an app with its rows to one file. @module */
import { listArchived, toDashed } from "../app_switch.ts";
import type { Database } from "../db/mod.ts";
import { unknownApp } from "../records/actions/mod.ts";
import {
  type ArchivedApp,
  describeArchive,
  orderTables,
  readRowLines,
} from "../records/apps/mod.ts";
import { showCount } from "../std/count.ts";
import { canonicalJson } from "../std/json.ts";
import { quoteForShell } from "../std/quote_shell.ts";
import type { ArchiveDeps } from "./deps.ts";
import {
  ArchiveError,
  makeTableDigest,
  type TableDigest,
  type TableDigests,
  type WriteBlock,
  writeArchive,
} from "./file.ts";

type Deps = Pick<ArchiveDeps, "admin" | "report"> & { rows: Database };

/** @throws {Problem} unknown_app */
export async function findArchive(deps: { admin: Database }, slug: string): Promise<ArchivedApp> {
  const app = await describeArchive(deps, slug);
  if (app !== undefined) return { ...app, tables: orderTables(app.tables) };
  throw unknownApp(slug);
}

export function countRows(tables: TableDigests): number {
  return Object.values(tables).reduce((sum, { rows }) => sum + rows, 0);
}

export async function exportRows(
  deps: Deps,
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
  { rows, report }: Deps,
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
async function checkUnchanged(deps: Deps, app: ArchivedApp, written: TableDigests): Promise<void> {
  const now = await findArchive(deps, app.slug);
  const again = await readTables(deps, app);
  if (
    canonicalJson({ ...now }) === canonicalJson({ ...app }) &&
    canonicalJson(again) === canonicalJson(written)
  )
    return;
  throw new ArchiveError(
    `${app.slug} changed during the export, so the archive would be inconsistent: run rowhouse admin set-app ${quoteForShell(app.slug)} disabled on first, then export it again`,
  );
}
