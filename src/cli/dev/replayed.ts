/**
 * The project's migrations that `dev` has replayed, in order: a hidden file beside the migrations of `dev` itself. Without it,
 * `dev` could not tell a pulled rename from one that it has already made.
 *
 * @module
 */
import { join } from "node:path";
import * as v from "valibot";
import { nameFormat } from "../../format.ts";
import { readIfThere, writeAtomically } from "../../std/files.ts";
import { tryParseJson } from "../../std/json.ts";
import type { MigrationRecord } from "../../tables/history/migration_text.ts";
import type { Change } from "../../tables/plan/change.ts";
import { readChange } from "../../tables/read_change.ts";

const FILE = ".project.json";

const Stored = v.object({
  /** The last migration of `dev` when the file was written: another database does not have it. */
  at: v.optional(v.string()),
  migrations: v.array(
    v.object({ name: v.string(), checksum: v.string(), change: v.optional(v.unknown()) }),
  ),
});

/** `name`: with its number. */
export type ReplayedMigration = { name: string; checksum: string; change?: Change };

/** `undefined` if nothing is recorded for the database with this history. */
export function readReplayed(
  journal: string,
  history: readonly MigrationRecord[],
): ReplayedMigration[] | undefined {
  const read = v.safeParse(Stored, tryParseJson(readIfThere(join(journal, FILE)) ?? ""));
  if (!read.success) return undefined;
  const { at, migrations } = read.output;
  if (at !== undefined && !history.some(({ checksum }) => checksum === at)) return undefined;
  return migrations.map(({ change, ...migration }) => {
    const asked = change === undefined ? undefined : readChange(change);
    return asked !== undefined && "value" in asked
      ? { ...migration, change: asked.value }
      : migration;
  });
}

export function writeReplayed(
  journal: string,
  at: string | undefined,
  migrations: readonly ReplayedMigration[],
): void {
  const content = { ...nameFormat("dev"), at, migrations };
  writeAtomically(join(journal, FILE), `${JSON.stringify(content, null, 1)}\n`);
}
