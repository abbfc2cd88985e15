/**
 * An app as an archive: its records, and its rows as lines of JSON. Rows are read and stored in batches, on the connection of a
 * login that is a member of only `rowhouse_rows`.
 *
 * @module
 */
import type { SwitchStates } from "../../app_switch.ts";
import { call, type Database } from "../../db/mod.ts";
import type { TableDefinition } from "../../dsl/mod.ts";
import type { RegisteredTargets } from "./app_targets.ts";

/** The limits of an app; `null` is the service's default. */
export type AppLimits = {
  perMinute: number | null;
  perMinuteOfKey: number | null;
};

/** An app without its rows and keys. */
export type ArchivedApp = {
  id: string;
  slug: string;
  targets: RegisteredTargets;
  limits: AppLimits;
  switches: SwitchStates;
  /** The columns of each table that the app declares. */
  tables: TableDefinition[];
  /** The files of its migrations, in order, and of the project's migrations that one of them joins. */
  migrations: (string | { text: string; joins: string[] })[];
  roles: { email: string; role: string }[];
};

export async function describeArchive(
  { admin }: { admin: Database },
  slug: string,
): Promise<ArchivedApp | undefined> {
  const found = await call(admin, "describe_archive", { app_slug: slug });
  return (found ?? undefined) as ArchivedApp | undefined;
}

/** Max rows or bytes of one statement. */
export const ARCHIVE_BATCH = { rows: 1000, bytes: 1_000_000 } as const;

/** Rows by id, one line of JSON each. */
export type RowLines = { count: number; lines: string };

type AppTable = { app: string; table: TableDefinition };

export async function* readRowLines(
  rows: Database,
  { app, table }: AppTable,
): AsyncGenerator<RowLines, void> {
  let after = "00000000-0000-0000-0000-000000000000";
  for (;;) {
    const { lines, row_count, last } = await call(rows, "read_rows", {
      ...toNames(table),
      app,
      after,
      max_rows: ARCHIVE_BATCH.rows,
      max_bytes: ARCHIVE_BATCH.bytes,
    });
    if (last === null) return;
    yield { count: row_count, lines };
    after = last;
  }
}

/** Stores rows with their ids, without the values of the columns in `empty`. */
export async function restoreRows(
  rows: Database,
  { app, table, empty, lines }: AppTable & { empty: readonly string[]; lines: string },
): Promise<void> {
  await call(rows, "restore_rows", { ...toNames(table), empty, app, lines });
}

/** Sets the values that {@linkcode restoreRows} left empty. */
export async function restoreReferences(
  rows: Database,
  { app, table, empty, lines }: AppTable & { empty: readonly string[]; lines: string },
): Promise<void> {
  await call(rows, "restore_references", { wanted_table: table.name, empty, app, lines });
}

function toNames({ name, columns }: TableDefinition) {
  return { wanted_table: name, names: columns.map((column) => column.name) };
}
