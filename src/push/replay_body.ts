/** The body of a request to apply or plan the project's migrations, checked completely: hostile, as that of a push is. @module */
import { type Definition, readDefinition } from "../dsl/mod.ts";
import type { Detail } from "../problem.ts";
import { findUnknownKeys, invalid, readDryRun, readShare, toDetail } from "./body.ts";
import { journalFileName } from "./journal.ts";
import { MAX_PLANNED } from "./limits.ts";
import {
  MAX_MIGRATION_BYTES,
  readMigrationChange,
  readMigrationDefinition,
  splitMigrationText,
} from "./migration_text.ts";
import type { CheckedMigration } from "./replay.ts";
import { takeTurn } from "./take_turn.ts";

const KEYS = ["migrations", "definition", "dryRun", "share"];

export type ReplayBody = {
  definition: Definition;
  migrations: CheckedMigration[];
  /** The one that is to be applied; absent from a dry run. */
  next?: CheckedMigration;
  share: readonly string[] | undefined;
};

/**
 * A body `{ migrations, definition, dryRun }`.
 *
 * @throws {Problem} invalid_schema — all faults at once
 */
export async function readReplayBody(
  body: Readonly<Record<string, unknown>>,
  appId: string,
): Promise<ReplayBody> {
  const { dryRun, details: flagFaults } = readDryRun(body);
  const { share, details: shareFaults } = readShare(body);
  const read = readDefinition(body["definition"]);
  const texts = readTexts(body["migrations"], dryRun ? MAX_PLANNED : 1);
  const migrations = await readMigrations(texts ?? [], appId);
  const details = [
    ...("faults" in read ? read.faults.map(toDetail) : []),
    ...(texts === undefined ? [describeTexts(dryRun)] : []),
    ...migrations.flatMap((migration, index) =>
      "faults" in migration
        ? migration.faults.map((message) => ({ path: `/migrations/${index}`, message }))
        : [],
    ),
    ...flagFaults,
    ...shareFaults,
    ...findUnknownKeys(body, KEYS),
  ];
  if ("faults" in read || details.length > 0) throw invalid(details);
  const checked = migrations.flatMap((migration) => ("faults" in migration ? [] : [migration]));
  const [next] = checked;
  return {
    definition: read.definition,
    migrations: checked,
    share,
    ...(dryRun || next === undefined ? {} : { next }),
  };
}

function readTexts(value: unknown, maxCount: number): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxCount) return undefined;
  return value.every((item): item is string => typeof item === "string") ? value : undefined;
}

function describeTexts(dryRun: boolean): Detail {
  const count = dryRun ? `1 to ${MAX_PLANNED} texts` : "the text of one migration";
  return { path: "/migrations", message: `Cannot read the migrations: must be a list of ${count}` };
}

/** Each is as large as a push may be: other requests have their turn in between. */
async function readMigrations(texts: readonly string[], appId: string) {
  const read: ReturnType<typeof readMigration>[] = [];
  for (const text of texts) {
    await takeTurn(appId);
    read.push(readMigration(text));
  }
  return read;
}

function readMigration(text: string): CheckedMigration | { faults: string[] } {
  if (Buffer.byteLength(text) > MAX_MIGRATION_BYTES)
    return {
      faults: [`Cannot read this migration: it is larger than ${MAX_MIGRATION_BYTES} bytes`],
    };
  const parts = splitMigrationText(text);
  if (parts === undefined)
    return { faults: ["Cannot read this text as a migration: push has not written it so"] };
  const read = readMigrationDefinition(parts);
  const { change: _, ...rest } = parts;
  const changed = readMigrationChange(parts);
  if ("definition" in read && !("faults" in changed))
    return { ...rest, text, definition: read.definition, ...changed };
  const file = journalFileName(parts);
  const faults = [read, changed].flatMap((part) => ("faults" in part ? part.faults : []));
  return { faults: faults.map((fault) => `Cannot read ${file}: ${fault}`) };
}
