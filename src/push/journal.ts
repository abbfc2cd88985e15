/**
 * The journal: the project's migrations as files `NNNN_<name>.sql`, of which a service has applied all, the first few, or
 * none. Compared with what it recorded, before every push. Pure: files are read and written by journal_files.ts.
 *
 * @module
 */
import { type Detail, Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { type Divergence, describeDivergence } from "./divergence.ts";
import {
  checksumOf,
  type MigrationParts,
  type MigrationRecord,
  NO_PARENT,
  showMigration,
  splitMigrationText,
} from "./migration_text.ts";
import type { AppliedMigration } from "./state.ts";

/** The largest number of four digits. */
export const MAX_MIGRATIONS = 9999;
export const JOURNAL_FILE = /^(\d{4})_([a-z0-9_]+)\.sql$/;

export type JournalEntry = { seq: number; checksum: string };
/** A file in the journal's folder, whatever its name. */
export type JournalFile = { file: string; text: string };
/** A migration of the project that push wrote. */
export type ProjectMigration = JournalFile & { parts: MigrationParts };

/** A disagreement between a journal's folder and the service; each kind has its own remedy. */
export type JournalFault = {
  code: "edited" | "other_content" | "renamed" | "unknown" | "gap" | "stray" | "twice" | "diverged";
  file: string;
  message: string;
  /** If it is not about this file alone. */
  details?: Detail[];
};

export type JournalComparison<Recorded extends MigrationRecord = MigrationRecord> = {
  /** All faults; if there is one, nothing may be pushed. */
  faults: JournalFault[];
  /** Recorded migrations whose files are missing: to be written from the record. */
  missing: Recorded[];
  /** The project's migrations that the service has not applied, in order. */
  ahead: ProjectMigration[];
  /** What to send along with a push, once those are applied. */
  entries: JournalEntry[];
};

/** What a migration's file is called. */
export function journalFileName({ seq, name }: { seq: number; name: string }): string {
  const file = `${showMigration({ seq, name })}.sql`;
  if (!JOURNAL_FILE.test(file))
    throw new Error(`Cannot name a migration ${quote(file)}: must match NNNN_name.sql`);
  return file;
}

/** Every difference between the files of a folder and the recorded migrations of the app. */
export function compareJournal<Recorded extends MigrationRecord>(
  files: readonly JournalFile[],
  recorded: readonly Recorded[],
): JournalComparison<Recorded> {
  const { found, faults } = sortFiles(files);
  const bySeq = new Map(recorded.map((migration) => [migration.seq, migration]));
  const same = new Set(
    [...found.keys()].filter((seq) => isSame(found.get(seq)?.parts, bySeq.get(seq))),
  );
  const lastSame = Math.max(0, ...same);
  const differing: Found[] = [];
  for (const file of found.values()) {
    const migration = bySeq.get(file.seq);
    const parent = found.get(file.seq - 1)?.parts?.checksum ?? bySeq.get(file.seq - 1)?.checksum;
    if (file.parts !== undefined && file.parts.seq !== file.seq) faults.push(...findRenaming(file));
    else if (same.has(file.seq)) faults.push(...findRenaming(file));
    // The checksum of what follows covers what comes before it: only this file can have been changed.
    else if (migration !== undefined && file.seq < lastSame) faults.push(edited(file, migration));
    else if (isIntact(file, parent)) {
      faults.push(...findRenaming(file));
      differing.push(file);
    } else faults.push(misfit(file, { migration, isAlone: !found.has(file.seq - 1) }));
  }
  const first = differing.find(({ seq }) => bySeq.has(seq));
  if (first !== undefined) faults.push(diverged(first, differing, recorded));
  return {
    faults,
    missing: recorded.filter(({ seq }) => !found.has(seq)),
    ahead: differing.flatMap(({ file, text, parts }) => (parts ? [{ file, text, parts }] : [])),
    entries: [...found.values()].flatMap(({ seq, parts }) =>
      parts === undefined ? [] : [{ seq, checksum: parts.checksum }],
    ),
  };
}

type Found = JournalFile & { seq: number; parts: MigrationParts | undefined };

/** The files by number, in order; strays and second ones are faults. */
function sortFiles(files: readonly JournalFile[]) {
  const faults: JournalFault[] = [];
  const found = new Map<number, Found>();
  for (const file of [...files].sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const seq = Number(JOURNAL_FILE.exec(file.file)?.[1] ?? Number.NaN);
    const earlier = found.get(seq);
    const parts = splitMigrationText(file.text);
    if (Number.isNaN(seq)) faults.push(stray(file.file));
    else if (earlier === undefined) found.set(seq, { ...file, seq, parts });
    else if (isOther(parts, earlier.parts)) faults.push(merged(file.file, earlier.file));
    else faults.push(twice(file.file, earlier.file));
  }
  return { found, faults };
}

/** Whether a file is a recorded migration as it was recorded. */
export function isSame(
  parts: MigrationParts | undefined,
  recorded: MigrationRecord | undefined,
): boolean {
  return (
    parts !== undefined &&
    recorded !== undefined &&
    parts.checksum === recorded.checksum &&
    // After the recorded parent, so that one edited file does not make all later ones look edited.
    checksumOf(recorded.parent, parts.body) === recorded.checksum
  );
}

/** Whether a file is as push wrote it, after the migration with that checksum. */
function isIntact({ seq, parts }: Found, before: string | undefined): boolean {
  const parent = seq === 1 ? NO_PARENT : before;
  return (
    parts !== undefined && parent !== undefined && checksumOf(parent, parts.body) === parts.checksum
  );
}

function findRenaming({ file, parts }: Found): JournalFault[] {
  const name = parts === undefined ? file : journalFileName(parts);
  if (name === file) return [];
  const message = `Cannot push: ${file} was renamed; rename it back to ${name}`;
  return [{ code: "renamed", file, message }];
}

type Misfit = { migration: MigrationRecord | undefined; isAlone: boolean };

/** Why a file that is not as recorded, nor as push wrote it, cannot be used. */
function misfit(file: Found, { migration, isAlone }: Misfit): JournalFault {
  if (migration !== undefined) return edited(file, migration);
  if (file.parts === undefined) return unknown(file.file);
  return isAlone && file.seq > 1 ? gap(file) : changed(file.file);
}

function edited({ file, parts }: Found, recorded: MigrationRecord): JournalFault {
  const expected = journalFileName(recorded);
  if (file !== expected && parts?.name !== recorded.name) return otherContent(file, expected);
  const message = `Cannot push: ${file} was edited after it was applied; restore it from version control, or remove it and run rowhouse db pull`;
  return { code: "edited", file, message };
}

function changed(file: string): JournalFault {
  const message = `Cannot push: ${file} was edited after push wrote it, or follows a different migration now; restore it from version control`;
  return { code: "edited", file, message };
}

function gap({ file, seq }: Found): JournalFault {
  const message = `Cannot push: migration ${seq - 1} before ${file} is missing, and the service has not applied it; restore it from version control`;
  return { code: "gap", file, message };
}

function diverged(
  first: Found,
  differing: readonly Found[],
  recorded: readonly MigrationRecord[],
): JournalFault {
  const divergence: Divergence = {
    common: recorded.find(({ seq }) => seq === first.seq - 1),
    project: differing.map(({ file }) => file.replace(/\.sql$/, "")),
    service: recorded.filter(({ seq }) => seq >= first.seq).map(showMigration),
  };
  return { code: "diverged", file: first.file, ...describeDivergence(divergence) };
}

function stray(file: string): JournalFault {
  const message = `Cannot read ${quote(file)} as a migration: this folder may hold only files that push wrote (NNNN_name.sql); move it elsewhere`;
  return { code: "stray", file, message };
}

function twice(file: string, other: string): JournalFault {
  const message = `Cannot use ${file}: ${other} has the same number; remove the file that push did not write`;
  return { code: "twice", file, message };
}

/** Whether both were written by push, for different migrations. */
function isOther(parts: MigrationParts | undefined, other: MigrationParts | undefined): boolean {
  return parts !== undefined && other !== undefined && parts.checksum !== other.checksum;
}

/** What a merge of two branches leaves. */
function merged(file: string, other: string): JournalFault {
  const message = `Cannot use ${file}: ${other} has the same number. If two branches were merged, keep the files of one branch and delete those of the other; then run rowhouse db resolve for each environment that has the deleted ones`;
  return { code: "twice", file, message };
}

function unknown(file: string): JournalFault {
  const message = `Cannot push: ${file} is not a migration that push wrote; move it elsewhere, or restore it from version control`;
  return { code: "unknown", file, message };
}

function otherContent(file: string, expected: string): JournalFault {
  const message = `Cannot push: ${file} has the same number as ${expected}, which the service has applied; remove ${file} and run rowhouse db pull`;
  return { code: "other_content", file, message };
}

/**
 * Checks what a caller says its files are.
 *
 * @throws {Problem} edited_migration — an entry is not as recorded, but a later one is; diverged_history — the entries end
 * otherwise than what is recorded, or go on after it
 */
export function checkJournal(
  entries: readonly JournalEntry[],
  recorded: readonly AppliedMigration[],
): void {
  const bySeq = new Map(recorded.map((migration) => [migration.seq, migration]));
  const isSame = ({ seq, checksum }: JournalEntry) => bySeq.get(seq)?.checksum === checksum;
  const lastSame = Math.max(0, ...entries.filter(isSame).map(({ seq }) => seq));
  const differing = entries.filter((entry) => !isSame(entry));
  const details = entries.flatMap((entry, index) => {
    const migration = bySeq.get(entry.seq);
    if (migration === undefined || isSame(entry) || entry.seq > lastSame) return [];
    const message = `${journalFileName(migration)} differs from what was applied`;
    return [{ path: `/journal/${index}`, message }];
  });
  const [edited] = details;
  if (edited !== undefined)
    throw new Problem("edited_migration", {
      message: `Cannot push: ${edited.message}; nothing was written`,
      details,
    });
  const [first] = differing.map(({ seq }) => seq).sort((a, b) => a - b);
  if (first === undefined) return;
  const divergence = {
    common: recorded.findLast(({ seq }) => seq < first),
    project: differing.map(({ seq }) => `migration ${seq}`),
    service: recorded.filter(({ seq }) => seq >= first).map(showMigration),
  };
  const { message, details: both } = describeDivergence(divergence);
  throw new Problem("diverged_history", { message: message.replaceAll("\n", ". "), details: both });
}
