/**
 * The journal: an app's migrations as files `NNNN_<name>.sql` in its own project. Compared with what the database
 * recorded, before every push. Pure: files are read and written by journal_files.ts.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { checksumOf, type MigrationRecord } from "./migration.ts";
import type { AppliedMigration } from "./state.ts";

/** The largest number of four digits. */
export const MAX_MIGRATIONS = 9999;
export const JOURNAL_FILE = /^(\d{4})_([a-z0-9_]+)\.sql$/;

export type JournalEntry = { seq: number; checksum: string };
/** A file in the journal's folder, whatever its name. */
export type JournalFile = { file: string; text: string };

/** A disagreement between a journal's folder and the database; each kind has its own remedy. */
export type JournalFault = {
  code: "other_app" | "edited" | "other_content" | "unknown" | "stray" | "twice";
  file: string;
  message: string;
};

export type JournalComparison = {
  /** All faults; if there is one, nothing may be pushed. */
  faults: JournalFault[];
  /** Recorded migrations whose files are missing: to be written from the record. */
  missing: MigrationRecord[];
  /** What to send along with a push. */
  entries: JournalEntry[];
};

/** What a migration's file is called. */
export function journalFileName({ seq, name }: { seq: number; name: string }): string {
  const file = `${String(seq).padStart(4, "0")}_${name}.sql`;
  if (!JOURNAL_FILE.test(file))
    throw new Error(`Cannot name a migration ${quote(file)}: must match NNNN_name.sql`);
  return file;
}

/** Every difference between the files of a folder and the recorded migrations of the app. */
export function compareJournal(
  files: readonly JournalFile[],
  recorded: readonly MigrationRecord[],
): JournalComparison {
  const faults: JournalFault[] = [];
  const found = new Map<number, JournalFile>();
  for (const one of [...files].sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const seq = Number(JOURNAL_FILE.exec(one.file)?.[1] ?? Number.NaN);
    const earlier = found.get(seq);
    if (Number.isNaN(seq)) faults.push(stray(one.file));
    else if (earlier === undefined) found.set(seq, one);
    else faults.push(twice(one.file, earlier.file));
  }
  const bySeq = new Map(recorded.map((migration) => [migration.seq, migration]));
  const misfits = [...found].flatMap(([seq, one]) => findFileFault(one, bySeq.get(seq)) ?? []);
  const first = found.get(1);
  // Whoever edited a file has others that are as they were; in another app's folder none is.
  const isOther = first !== undefined && bySeq.has(1) && misfits.length === found.size;
  faults.unshift(...(isOther ? [otherApp(first.file)] : []));
  faults.push(...misfits);
  return {
    faults,
    missing: recorded.filter(({ seq }) => !found.has(seq)),
    entries: recorded
      .filter(({ seq }) => found.has(seq))
      .map(({ seq, checksum }) => ({ seq, checksum })),
  };
}

function findFileFault({ file, text }: JournalFile, recorded: MigrationRecord | undefined) {
  if (recorded === undefined) return unknown(file);
  // Checked against the recorded parent, so that one edited file does not make all later ones look edited.
  if (checksumOf(recorded.parent, text) === recorded.checksum) return undefined;
  const expected = journalFileName(recorded);
  return file === expected ? edited(file) : otherContent(file, expected);
}

function otherApp(file: string): JournalFault {
  const message = `Cannot push: ${file} is not the first migration as this app applied it; if the folder belongs to another app, or --app names another one, correct that and leave the files alone`;
  return { code: "other_app", file, message };
}

function stray(file: string): JournalFault {
  const message = `Cannot read ${quote(file)} as a migration: this folder may hold only files that push wrote (NNNN_name.sql); move it elsewhere`;
  return { code: "stray", file, message };
}

function twice(file: string, other: string): JournalFault {
  const message = `Cannot use ${file}: ${other} has the same number; remove the one that push did not write`;
  return { code: "twice", file, message };
}

function unknown(file: string): JournalFault {
  const message = `Cannot push: ${file} was never applied to this database; push to the database it came from, or remove the file`;
  return { code: "unknown", file, message };
}

function edited(file: string): JournalFault {
  const message = `Cannot push: ${file} was edited after it was applied; restore it from version control, or remove it and run rowhouse db pull`;
  return { code: "edited", file, message };
}

function otherContent(file: string, expected: string): JournalFault {
  const message = `Cannot push: ${file} has the same number as ${expected}, which this database applied; remove ${file} and run rowhouse db pull`;
  return { code: "other_content", file, message };
}

/**
 * Checks what a caller says its files are.
 *
 * @throws {Problem} edited_migration — with every entry that is not as recorded
 */
export function checkJournal(
  entries: readonly JournalEntry[],
  recorded: readonly AppliedMigration[],
): void {
  const bySeq = new Map(recorded.map((migration) => [migration.seq, migration]));
  const details = entries.flatMap(({ seq, checksum }, index) => {
    const path = `/journal/${index}`;
    const migration = bySeq.get(seq);
    if (migration === undefined)
      return [{ path, message: `Migration ${seq} was never applied to this database` }];
    if (migration.checksum === checksum) return [];
    return [{ path, message: `${journalFileName(migration)} differs from what was applied` }];
  });
  if (details.length === 0) return;
  const [first] = details;
  throw new Problem("edited_migration", {
    message: `Cannot push: ${first?.message ?? ""}; nothing was written`,
    details,
  });
}
