/** The journal's files around a push: compared before it, written after it, and never in between. @module */
import { dirname, join, relative, resolve } from "node:path";
import {
  compareJournal,
  type JournalEntry,
  type Migration,
  type MigrationRecord,
  readJournal,
  writeJournal,
} from "../../push/mod.ts";
import { EXIT, RefusedError } from "../cli/command.ts";
import { HIDDEN_FOLDER } from "../dev/file.ts";
import type { Destination, SchemaService } from "./service.ts";

/** The journal of a `rowhouse dev`, in the project's folder. */
export const DEV_JOURNAL = join(HIDDEN_FOLDER, "migrations");

export type JournalOptions = {
  folder: string;
  /** The schema's file. */
  file: string;
  /** As typed after `--journal`. */
  journal: string | undefined;
};

export type CheckedJournal = { entries: JournalEntry[]; missing: MigrationRecord[] };

/**
 * Where the files are: beside the schema; for `rowhouse dev` in the hidden folder, because each machine's database has a
 * history of its own, which concerns nobody else.
 */
export function findJournalFolder(options: JournalOptions, destination: Destination): string {
  if (options.journal !== undefined) return resolve(options.folder, options.journal);
  const isDev =
    destination.kind === "service" ? destination.target.isDev === true : destination.isDev === true;
  return isDev ? join(options.folder, DEV_JOURNAL) : join(dirname(options.file), "migrations");
}

/**
 * What a push sends about the journal, and which files are missing.
 *
 * @throws {RefusedError} a file differs from what was applied; every one is named, with its way out
 */
export async function checkJournalFiles(
  folder: string,
  recorded: readonly MigrationRecord[],
): Promise<CheckedJournal> {
  const { faults, entries, missing } = compareJournal(await readJournal(folder), recorded);
  if (faults.length > 0) {
    throw new RefusedError(faults.map(({ message }) => message).join("\n"), EXIT.refused, {
      code: "edited_migration",
      details: faults.map(({ file, message }) => ({ path: `/${file}`, message })),
    });
  }
  return { entries, missing };
}

/** The migrations themselves, asked for one by one: together they may be too large for an answer. */
export async function fetchMigrations(
  service: Pick<SchemaService, "migration">,
  wanted: readonly MigrationRecord[],
): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const { seq } of wanted) migrations.push(await service.migration(seq));
  return migrations;
}

/** Writes what the folder lacks; the paths of the files, as seen from the project. */
export async function writeJournalFiles(
  options: { folder: string; journal: string },
  migrations: readonly Migration[],
): Promise<string[]> {
  const written = await writeJournal(options.journal, migrations);
  return written.map((file) => relative(options.folder, join(options.journal, file)));
}
