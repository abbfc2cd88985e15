/** An existing project migration, applied at a service that lacks it. Pure. @module */

import { Problem } from "../../problem.ts";
import type { Definition } from "../../schema/mod.ts";
import { REJECTIONS } from "../conflicts.ts";
import type { Change } from "../plan/change.ts";
import { describeDivergence, isSame } from "./journal.ts";
import {
  checksumOf,
  type Migration,
  type MigrationRecord,
  type MigrationText,
  NO_PARENT,
  showMigration,
} from "./migration_text.ts";

/** A migration of the project with a checked definition, which an import replaces by the tables of the archive. */
export type CheckedMigration = Omit<Migration, "definition" | "change"> & {
  definition: Definition;
  change?: Change;
  /** The project's migrations that it joins, when an app's archive is imported. */
  joins?: readonly CheckedMigration[];
};

/**
 * Returns whether the service has already applied the migration. Otherwise, it must be the next migration.
 *
 * @throws {Problem} diverged_history — another migration has its number, or an earlier migration is missing; edited_migration —
 *   the text does not match its checksum after the migration before it
 */
export function isApplied(
  replayed: CheckedMigration,
  applied: readonly MigrationRecord[],
): boolean {
  const { seq, checksum, body } = replayed;
  const head = applied.at(-1);
  const same = applied.find((migration) => migration.seq === seq);
  if (isSame(replayed, same)) return true;
  if (same?.checksum === checksum)
    throw new Problem("edited_migration", {
      message: `Cannot push: ${showMigration(same)} was edited after it was applied; nothing was written`,
    });
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

/**
 * The migrations that a migration joins, as recorded: each follows the previous one, and the first follows a migration of the
 * service.
 *
 * @throws {Problem} edited_migration; diverged_history — the service has changed since the comparison
 */
export function checkChain(
  migrations: readonly CheckedMigration[],
  applied: readonly MigrationRecord[],
): MigrationText[] {
  const [first] = migrations;
  const start = (first?.seq ?? 1) - 1;
  const common = applied[start - 1];
  const replaced = applied[start];
  if (
    (start > 0 && common === undefined) ||
    replaced === undefined ||
    replaced.checksum === first?.checksum
  )
    throw new Problem("diverged_history", { message: REJECTIONS.moved });
  let parent = common?.checksum ?? NO_PARENT;
  return migrations.map(({ seq, name, checksum, body, text }, index) => {
    if (seq !== start + index + 1 || checksumOf(parent, body) !== checksum)
      throw new Problem("edited_migration", {
        message: `Cannot join the histories: ${showMigration({ seq, name })} was edited after push wrote it, or does not follow the one before; nothing was written`,
      });
    const record = { seq, name, parent, checksum, text };
    parent = checksum;
    return record;
  });
}

function diverged(replayed: CheckedMigration, applied: readonly MigrationRecord[]): Problem {
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
