/** The journal's files: compared before a push, and written after it. @module */

import { dirname, join, relative, resolve } from "node:path";
import {
  compareJournal,
  type JournalComparison,
  journalFileName,
} from "../../tables/history/journal.ts";
import { readJournal, writeJournal } from "../../tables/history/journal_files.ts";
import {
  describeMerge,
  findMerge,
  type Merge,
  type MergePlace,
} from "../../tables/history/merged_files.ts";
import {
  type MigrationRecord,
  type MigrationText,
  readMigrationChange,
  readMigrationDefinition,
  showMigration,
  splitMigrationText,
} from "../../tables/history/migration_text.ts";
import {
  type ProjectRecord,
  type RecordedMigration,
  toProjectHistory,
} from "../../tables/history/project_history.ts";
import type { StoredMigration } from "../../tables/history/status.ts";
import type { Declared } from "../../tables/plan/merge_table.ts";
import { EXIT, RejectedError, type Setting } from "../command.ts";
import type { SchemaService } from "./schema_service.ts";
import { type Destination, isDev, nameDestination, withDestination } from "./service.ts";

/** The project's journal, next to the schema. */
export const PROJECT_JOURNAL = "migrations";

export type CheckedJournal = Omit<JournalComparison<ProjectRecord>, "issues"> & {
  /** Whether project and service each have migrations that the other lacks. `ahead` has those of the project. */
  isDiverged: boolean;
};

/** The folder of `--journal`, or next to the schema's file; none for `rowhouse dev`, because each machine's database has its own history. */
export function findJournalFolder(
  { args, folder }: Pick<Setting, "args" | "folder">,
  file: string,
  destination: Destination,
): string | undefined {
  const journal = args.text("journal");
  if (journal !== undefined) return resolve(folder, journal);
  return isDev(destination) ? undefined : join(dirname(file), PROJECT_JOURNAL);
}

/** A journal of a project, and the destination that it is compared with. */
export type JournalLocation = {
  folder: string;
  journal: string | undefined;
  destination: Destination;
};

/**
 * Compares the journal with the service: entries to send, and missing files.
 *
 * @throws {RejectedError} a file differs from the applied migration; lists all such files with a remedy
 */
export async function checkJournalFiles(
  location: JournalLocation,
  migrations: readonly RecordedMigration[],
  { mayDiverge = false }: { mayDiverge?: boolean | undefined } = {},
): Promise<CheckedJournal> {
  const { folder, journal, destination } = location;
  if (journal === undefined) return { missing: [], ahead: [], entries: [], isDiverged: false };
  const files = await readJournal(journal);
  const recorded = toProjectHistory(migrations);
  const merge = findMerge(files);
  if (merge !== undefined) rejectMerge(merge, { folder, journal, destination }, recorded);
  const compared = compareJournal(files, recorded);
  const isDiverged = compared.issues.some(({ code }) => code === "diverged");
  const issues = compared.issues.filter(({ code }) => !mayDiverge || code !== "diverged");
  if (issues.length === 0) return { ...compared, isDiverged };
  const lines = [
    ...issues.map(({ message }) => nameDestination(message, destination)),
    `The project's migrations are in ${relative(folder, journal)}`,
  ];
  throw new RejectedError(lines.join("\n"), EXIT.rejected, {
    code: isDiverged ? "diverged_history" : "edited_migration",
    details: issues.flatMap(
      ({ file, message, details }) => details ?? [{ path: `/${file}`, message }],
    ),
  });
}

/** Fetches migrations one by one: together they can be too large for a response. */
export async function fetchMigrations(
  service: Pick<SchemaService, "migration">,
  wanted: readonly ProjectRecord[],
): Promise<MigrationText[]> {
  const stored = new Map<number, StoredMigration>();
  for (const { at } of wanted) if (!stored.has(at)) stored.set(at, await service.migration(at));
  return wanted.flatMap(({ at, ...record }) => {
    const found = stored.get(at);
    const joined = found?.joins?.find(({ seq }) => seq === record.seq);
    return joined ?? (found === undefined ? [] : { ...record, text: found.text });
  });
}

/** The paths of these migrations' files, relative to the project. */
export function listJournalFiles(
  { folder, journal }: Pick<JournalLocation, "folder" | "journal">,
  migrations: readonly MigrationRecord[],
): string[] {
  if (journal === undefined) return [];
  return migrations.map((migration) => relative(folder, join(journal, journalFileName(migration))));
}

/** Writes the missing files; returns their paths relative to the project. */
export async function writeJournalFiles(
  { folder, journal }: Pick<JournalLocation, "folder" | "journal">,
  migrations: readonly MigrationText[],
): Promise<string[]> {
  if (journal === undefined) return [];
  const written = await writeJournal(journal, migrations);
  return written.map((file) => relative(folder, join(journal, file)));
}

/** The declarations of migrations, in order. The texts were verified, or are not recorded yet. */
export function readDeclared(texts: readonly Pick<MigrationText, "text">[]): Declared[] {
  const all = texts.flatMap(({ text }) => splitMigrationText(text) ?? []);
  return all
    .toSorted((a, b) => a.seq - b.seq)
    .map((parts) => {
      const read = { ...readMigrationDefinition(parts), ...readMigrationChange(parts) };
      if (!("issues" in read)) return read;
      throw new RejectedError(
        `Cannot read ${showMigration(parts)}: ${read.issues.join("; ")}`,
        EXIT.rejected,
        { code: "invalid_schema" },
      );
    });
}

/** @throws {RejectedError} lists the files of both branches, and the commands that keep those of one branch */
export function rejectMerge(
  merge: Merge,
  { folder, journal, destination }: { folder: string; journal: string; destination: Destination },
  recorded: readonly MigrationRecord[],
): never {
  const place = toMergePlace(destination, recorded);
  const { lines, details } = describeMerge(merge, [place], relative(folder, journal));
  throw new RejectedError(lines.join("\n"), EXIT.rejected, { code: "edited_migration", details });
}

export function toMergePlace(
  destination: Destination,
  recorded: readonly MigrationRecord[],
): MergePlace {
  const name =
    destination.kind === "service"
      ? (destination.environment?.name ?? destination.target.url)
      : destination.app;
  return {
    name,
    push: withDestination("rowhouse db push", destination),
    resolve: withDestination("rowhouse db resolve", destination),
    recorded,
  };
}
