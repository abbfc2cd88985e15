/**
 * The history of a project as a service has it. Where histories had diverged, the service has joined the project's: from
 * there on, the project's migrations count as applied, in place of those that the service had under their numbers. Pure.
 *
 * @module
 */
import { type MigrationRecord, NO_PARENT } from "./migration_text.ts";

/** A migration as a service lists it: its number is its place there. */
export type RecordedMigration = MigrationRecord & {
  /** The project's migrations that it joins, in order; null for most. */
  joins: readonly MigrationRecord[] | null;
};

/** A migration of the project; `at`: the recorded one that has its text. */
export type ProjectRecord = MigrationRecord & { at: number };

/** The migrations of the project that count as applied, by the project's numbers. */
export function toProjectHistory(
  recorded: readonly Omit<RecordedMigration, "parent">[],
): ProjectRecord[] {
  const history: ProjectRecord[] = [];
  for (const { seq: at, name, checksum, joins } of recorded) {
    const [first] = joins ?? [];
    if (first !== undefined) history.length = first.seq - 1;
    const parent = history.at(-1)?.checksum ?? NO_PARENT;
    const added = joins ?? [{ seq: history.length + 1, name, parent, checksum }];
    history.push(...added.map((migration) => ({ ...migration, at })));
  }
  return history;
}
