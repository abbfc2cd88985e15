/**
 * The journal: the project's migrations as files `NNNN_<name>.sql`. A service has applied all of them, the first few, or
 * none. Every push first compares the journal with the service's record. Pure: journal_files.ts reads and writes the files.
 *
 * @module
 */
import { type Detail, Problem } from "../../problem.ts";
import { quote } from "../../std/quote.ts";
import {
  checksumOf,
  describeNewerMigration,
  type Migration,
  type MigrationRecord,
  NO_PARENT,
  showMigration,
  splitMigrationText,
} from "./migration_text.ts";

/** The largest number of four digits. */
export const MAX_MIGRATIONS = 9999;
export const JOURNAL_FILE = /^(\d{4})_([a-z0-9_]+)\.sql$/;

export type JournalEntry = { seq: number; checksum: string };
/** A file in the journal's folder, whatever its name. */
export type JournalFile = { file: string; text: string };
/** A migration file of the project that push wrote. */
export type ProjectMigration = JournalFile & { parts: Migration };

/** A conflict between a journal's folder and the service. Each kind has its own remedy. */
type JournalIssue = {
  code:
    | "edited"
    | "other_content"
    | "renamed"
    | "unknown"
    | "newer"
    | "gap"
    | "stray"
    | "twice"
    | "diverged";
  file: string;
  message: string;
  /** Set if the conflict concerns more than this file. */
  details?: Detail[];
};

export type JournalComparison<Recorded extends MigrationRecord = MigrationRecord> = {
  /** All conflicts. If there are any, a push is not possible. */
  issues: JournalIssue[];
  /** Recorded migrations without a file, to be written from the record. */
  missing: Recorded[];
  /** The project's migrations that the service has not applied, in order. */
  ahead: ProjectMigration[];
  /** The journal to send with a push, once these are applied. */
  entries: JournalEntry[];
};

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
  const { found, issues } = sortFiles(files);
  const bySeq = new Map(recorded.map((migration) => [migration.seq, migration]));
  const same = new Set(
    [...found.keys()].filter((seq) => isSame(found.get(seq)?.parts, bySeq.get(seq))),
  );
  const lastSame = Math.max(0, ...same);
  const differing: Found[] = [];
  for (const file of found.values()) {
    const migration = bySeq.get(file.seq);
    const parent = found.get(file.seq - 1)?.parts?.checksum ?? bySeq.get(file.seq - 1)?.checksum;
    if (file.parts !== undefined && file.parts.seq !== file.seq) issues.push(...findRenaming(file));
    else if (file.newer !== undefined) issues.push(newer(file.file, file.newer));
    else if (same.has(file.seq)) issues.push(...findRenaming(file));
    // Later checksums cover earlier files, so only this file can have changed.
    else if (migration !== undefined && file.seq < lastSame) issues.push(edited(file, migration));
    else if (isIntact(file, parent)) {
      issues.push(...findRenaming(file));
      differing.push(file);
    } else issues.push(describeMismatch(file, { migration, isOnlyGap: !found.has(file.seq - 1) }));
  }
  const first = differing.find(({ seq }) => bySeq.has(seq));
  if (first !== undefined) issues.push(diverged(first, differing, recorded));
  return {
    issues,
    missing: recorded.filter(({ seq }) => !found.has(seq)),
    ahead: differing.flatMap(({ file, text, parts }) => (parts ? [{ file, text, parts }] : [])),
    entries: [...found.values()].flatMap(({ seq, parts }) =>
      parts === undefined ? [] : [{ seq, checksum: parts.checksum }],
    ),
  };
}

type Found = JournalFile & {
  seq: number;
  parts: Migration | undefined;
  /** Why a newer Rowhouse is required. */
  newer: string | undefined;
};

/** The files by number, in order. Unknown and duplicate files are conflicts. */
function sortFiles(files: readonly JournalFile[]) {
  const issues: JournalIssue[] = [];
  const found = new Map<number, Found>();
  for (const file of [...files].sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const seq = Number(JOURNAL_FILE.exec(file.file)?.[1] ?? Number.NaN);
    const earlier = found.get(seq);
    const parts = splitMigrationText(file.text);
    if (Number.isNaN(seq)) issues.push(stray(file.file));
    else if (earlier === undefined)
      found.set(seq, { ...file, seq, parts, newer: describeNewerMigration(file.text) });
    else issues.push(twice(file.file, earlier.file));
  }
  return { found, issues };
}

/** Whether a file equals its recorded migration. */
export function isSame(
  parts: Pick<Migration, "checksum" | "body"> | undefined,
  recorded: MigrationRecord | undefined,
): boolean {
  return (
    parts !== undefined &&
    recorded !== undefined &&
    parts.checksum === recorded.checksum &&
    // Uses the recorded parent, so that one edited file does not mark all later files as edited.
    checksumOf(recorded.parent, parts.body) === recorded.checksum
  );
}

/** Whether a file is as push wrote it, with this checksum as its parent. */
function isIntact({ seq, parts }: Found, before: string | undefined): boolean {
  const parent = seq === 1 ? NO_PARENT : before;
  return (
    parts !== undefined && parent !== undefined && checksumOf(parent, parts.body) === parts.checksum
  );
}

function findRenaming({ file, parts }: Found): JournalIssue[] {
  const name = parts === undefined ? file : journalFileName(parts);
  if (name === file) return [];
  const message = `Cannot push: ${file} was renamed; rename it back to ${name}`;
  return [{ code: "renamed", file, message }];
}

type Mismatch = { migration: MigrationRecord | undefined; isOnlyGap: boolean };

/** The issue of a file that differs from its record and from push's output. */
function describeMismatch(file: Found, { migration, isOnlyGap }: Mismatch): JournalIssue {
  if (migration !== undefined) return edited(file, migration);
  if (file.parts === undefined) return unknown(file.file);
  return isOnlyGap && file.seq > 1 ? gap(file) : changed(file.file);
}

function edited({ file, parts }: Found, recorded: MigrationRecord): JournalIssue {
  const expected = journalFileName(recorded);
  if (file !== expected && parts?.name !== recorded.name) return otherContent(file, expected);
  const message = `Cannot push: ${file} was edited after it was applied; restore it from version control, or remove it and run rowhouse db pull`;
  return { code: "edited", file, message };
}

function changed(file: string): JournalIssue {
  const message = `Cannot push: ${file} was edited after push wrote it, or follows a different migration now; restore it from version control`;
  return { code: "edited", file, message };
}

function gap({ file, seq }: Found): JournalIssue {
  const message = `Cannot push: migration ${seq - 1} before ${file} is missing, and the service has not applied it; restore it from version control`;
  return { code: "gap", file, message };
}

function diverged(
  first: Found,
  differing: readonly Found[],
  recorded: readonly MigrationRecord[],
): JournalIssue {
  const divergence: Divergence = {
    common: recorded.find(({ seq }) => seq === first.seq - 1),
    project: differing.map(({ file }) => file.replace(/\.sql$/, "")),
    service: recorded.filter(({ seq }) => seq >= first.seq).map(showMigration),
  };
  return { code: "diverged", file: first.file, ...describeDivergence(divergence) };
}

function stray(file: string): JournalIssue {
  const message = `Cannot read ${quote(file)} as a migration: this folder may hold only files that push wrote (NNNN_name.sql); move it elsewhere`;
  return { code: "stray", file, message };
}

function twice(file: string, other: string): JournalIssue {
  const message = `Cannot use ${file}: ${other} has the same number; remove the file that push did not write`;
  return { code: "twice", file, message };
}

function newer(file: string, reason: string): JournalIssue {
  return { code: "newer", file, message: `Cannot push: ${file} ${reason}` };
}

function unknown(file: string): JournalIssue {
  const message = `Cannot push: ${file} is not a migration that push wrote; move it elsewhere, or restore it from version control`;
  return { code: "unknown", file, message };
}

function otherContent(file: string, expected: string): JournalIssue {
  const message = `Cannot push: ${file} has the same number as ${expected}, which the service has applied; remove ${file} and run rowhouse db pull`;
  return { code: "other_content", file, message };
}

/**
 * Checks the caller's list of files.
 *
 * @throws {Problem} edited_migration — an entry differs from the record, but a later entry matches; diverged_history — the
 * last entries differ from the record, or continue after it
 */
export function checkJournal(
  entries: readonly JournalEntry[],
  recorded: readonly MigrationRecord[],
): void {
  const bySeq = new Map(recorded.map((migration) => [migration.seq, migration]));
  const isSame = ({ seq, checksum }: JournalEntry) => bySeq.get(seq)?.checksum === checksum;
  const lastSame = Math.max(0, ...entries.filter(isSame).map(({ seq }) => seq));
  const differing = entries.filter((entry) => !isSame(entry));
  const details = entries.flatMap((entry, index) => {
    const migration = bySeq.get(entry.seq);
    if (migration === undefined || isSame(entry) || entry.seq > lastSame) return [];
    const message = `${journalFileName(migration)} differs from the applied migration`;
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

/** The migrations that only one side has, by name. */
type Divergence = {
  common: Pick<MigrationRecord, "seq" | "name"> | undefined;
  project: readonly string[];
  service: readonly string[];
};

/** The error message, with both lists as details too. */
export function describeDivergence(divergence: Divergence): {
  message: string;
  details: Detail[];
} {
  const { project, service } = divergence;
  const details = [
    ...project.map((name) => ({ path: `/project/${name}`, message: "not applied at the service" })),
    ...service.map((name) => ({ path: `/service/${name}`, message: "not in the project" })),
  ];
  // Only callers that send no migrations lack some: the command applies the missing migrations first.
  const message =
    service.length === 0
      ? `Cannot push: this service must first apply ${list(project)} of the project; nothing was written`
      : describeBoth(divergence);
  return { message, details };
}

function describeBoth({ common, project, service }: Divergence): string {
  const since = common === undefined ? "from the start" : `after ${showMigration(common)}`;
  return [
    `Cannot push: the histories differ ${since}. The project has ${list(project)}, which the service never applied; the service has ${list(service)}, which the project lacks; nothing was written`,
    "To keep both, declare the tables and columns of both sides in the schema, and run rowhouse db resolve: it adds the missing parts to the service, which then continues the project's history",
    "To continue the service's history, remove those files, run rowhouse db pull, and push again: their changes become a new migration. Any service that has applied those files then has a different history",
    `To continue the project's history, push to an app ${common === undefined ? "without migrations" : "that has applied no others"}, such as a new app (rowhouse admin create-app). If the key or --app names another project's app, correct it and keep the files`,
  ].join("\n");
}

/** The details contain long lists completely. */
const MAX_NAMED = 8;

function list(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  if (more <= 0) return names.join(", ");
  return `${names.slice(0, MAX_NAMED).join(", ")} and ${more} more`;
}
