/** An existing project migration, applied at a service that lacks it. Pure. @module */
import type { Definition } from "../dsl/mod.ts";
import { Problem } from "../problem.ts";
import type { Change } from "./change.ts";
import { describeDivergence } from "./divergence.ts";
import { checksumOf, type MigrationParts, NO_PARENT, showMigration } from "./migration_text.ts";
import type { AppliedMigration } from "./state.ts";

export type ReplayedMigration = Omit<MigrationParts, "change"> & {
  text: string;
  /** Whether a later definition of the project determines the use of other apps' tables. */
  isFollowed: boolean;
};

/** A migration file with a checked definition. An import replaces the definition by the tables of the archive. */
export type CheckedMigration = Omit<ReplayedMigration, "isFollowed" | "definition"> & {
  definition: Definition;
  change?: Change;
};

/**
 * Returns whether the service has already applied the migration. Otherwise, it must be the next migration.
 *
 * @throws {Problem} diverged_history — another migration has its number, or an earlier migration is missing; edited_migration —
 *   the text does not match its checksum after the last applied migration
 */
export function isApplied(
  replayed: ReplayedMigration,
  applied: readonly AppliedMigration[],
): boolean {
  const { seq, checksum, body } = replayed;
  const head = applied.at(-1);
  const same = applied.find((migration) => migration.seq === seq);
  if (same?.checksum === checksum) return true;
  if (same !== undefined || seq !== (head?.seq ?? 0) + 1) throw diverged(replayed, applied);
  if (checksumOf(head?.checksum ?? NO_PARENT, body) === checksum) return false;
  const before =
    head === undefined
      ? "is not the first of its project"
      : `does not follow ${showMigration(head)}`;
  throw new Problem("edited_migration", {
    message: `Cannot push: ${showMigration(replayed)} was edited after push wrote it, or ${before}; nothing was written`,
  });
}

function diverged(replayed: ReplayedMigration, applied: readonly AppliedMigration[]): Problem {
  const service = applied.filter(({ seq }) => seq >= replayed.seq);
  if (service.length === 0) {
    const message = `Cannot push: ${showMigration(replayed)} cannot be applied yet: this service has applied ${applied.length} of the migrations before it; nothing was written`;
    return new Problem("diverged_history", { message });
  }
  const { message, details } = describeDivergence({
    common: applied.findLast(({ seq }) => seq < replayed.seq),
    project: [showMigration(replayed)],
    service: service.map(showMigration),
  });
  return new Problem("diverged_history", { message: message.replaceAll("\n", ". "), details });
}
