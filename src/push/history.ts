/** How a project's history and that of a service differ, counted in migrations. Pure. @module */
import { isSame, JOURNAL_FILE, type JournalFile } from "./journal.ts";
import { type MigrationRecord, splitMigrationText } from "./migration_text.ts";

export type HistoryDifference = {
  /** Migrations that the service has and the project lacks. */
  ahead: number;
  /** Migrations that the project has and the service lacks. */
  behind: number;
};

/** Both counts are above zero where the two have gone separate ways, or a file was edited. */
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
