/**
 * A project's history at a service. If histories had diverged, the service joined the project's
 * history: from then on, the project's migrations count as applied, instead of the service's
 * migrations with the same numbers. Pure.
 *
 * @module
 */
import { type MigrationRecord, NO_PARENT } from "./migration_text.ts";

/** A migration in a service's list: its number is its position there. */
export type RecordedMigration = MigrationRecord & {
  /** The project's migrations that it joins, in order; usually null. */
  joins: readonly MigrationRecord[] | null;
};

/** A migration of the project; `at`: the recorded migration with its text. */
export type ProjectRecord = MigrationRecord & { at: number };

/** The project's migrations that count as applied, by the project's numbers. */
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
