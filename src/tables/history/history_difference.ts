/** The differences between a project's and a service's history, as counts of migrations. Pure. @module */
import { isSame, JOURNAL_FILE, type JournalFile } from "./journal.ts";
import { type MigrationRecord, splitMigrationText } from "./migration_text.ts";

export type HistoryDifference = {
  ahead: number;
  /** Migrations that only the project has. */
  behind: number;
};

/** Both counts are above zero if the histories have diverged or a file was edited. */
export function compareHistory(
  files: readonly JournalFile[],
  recorded: readonly MigrationRecord[],
): HistoryDifference {
  const bySeq = new Map(recorded.map((migration) => [migration.seq, migration]));
  const own = files.filter(({ file }) => JOURNAL_FILE.test(file));
  const common = own.filter(({ file, text }) =>
    isSame(splitMigrationText(text), bySeq.get(Number(JOURNAL_FILE.exec(file)?.[1]))),
  );
  return { ahead: recorded.length - common.length, behind: own.length - common.length };
}
