/**
 * Reads the bodies of requests that apply, plan or join the project's migrations, checked completely as hostile input.
 *
 * @module
 */
import { type Definition, readDefinition } from "../dsl/mod.ts";
import type { Detail } from "../problem.ts";
import { acquireTurn } from "./acquire_turn.ts";
import { findUnknownKeys, invalid, readDryRun, readShare, toDetail } from "./body.ts";
import type { Join } from "./join.ts";
import { journalFileName, MAX_MIGRATIONS } from "./journal.ts";
import { MAX_PLANNED } from "./limits.ts";
import {
  MAX_MIGRATION_BYTES,
  readMigrationChange,
  readMigrationDefinition,
  splitMigrationText,
} from "./migration_text.ts";
import type { CheckedMigration } from "./replayed_migration.ts";

const KEYS = ["migrations", "definition", "dryRun", "share"];

export type ReplayBody = {
  definition: Definition;
  migrations: CheckedMigration[];
  /** The migration to apply; absent from a dry run. */
  next?: CheckedMigration;
  share: readonly string[] | undefined;
};

/**
 * A body `{ migrations, definition, dryRun }`.
 *
 * @throws {Problem} invalid_schema — with all errors
 */
export async function readReplayBody(
  body: Readonly<Record<string, unknown>>,
  appId: string,
): Promise<ReplayBody> {
  const { dryRun, details: flagIssues } = readDryRun(body);
  const { share, details: shareIssues } = readShare(body);
  const read = readDefinition(body["definition"]);
  const texts = readTexts(body["migrations"], dryRun ? MAX_PLANNED : 1);
  const migrations = await readMigrations(texts ?? [], appId);
  const details = [
    ...("issues" in read ? read.issues.map(toDetail) : []),
    ...(texts === undefined ? [describeTexts(dryRun ? MAX_PLANNED : 1)] : []),
    ...migrations.flatMap(toTextDetails),
    ...flagIssues,
    ...shareIssues,
    ...findUnknownKeys(body, KEYS),
  ];
  if ("issues" in read || details.length > 0) throw invalid(details);
  const checked = migrations.flatMap((migration) => ("issues" in migration ? [] : [migration]));
  const [next] = checked;
  return {
    definition: read.definition,
    migrations: checked,
    share,
    ...(dryRun || next === undefined ? {} : { next }),
  };
}

export type JoinBody = {
  definition: Definition;
  join: Join;
  options: { dryRun: boolean; share: readonly string[] | undefined };
};

/**
 * A body `{ migrations, definition, declared, dryRun, share }`.
 *
 * @throws {Problem} invalid_schema — with all errors
 */
export async function readJoinBody(
  body: Readonly<Record<string, unknown>>,
  appId: string,
): Promise<JoinBody> {
  const { dryRun, details: flagIssues } = readDryRun(body);
  const { share, details: shareIssues } = readShare(body);
  const read = readDefinition(body["definition"]);
  const declared = readDefinition(body["declared"]);
  const texts = readTexts(body["migrations"], MAX_MIGRATIONS);
  const migrations = await readMigrations(texts ?? [], appId);
  const details = [
    ...[read, declared].flatMap((checkedDefinition) =>
      "issues" in checkedDefinition ? checkedDefinition.issues.map(toDetail) : [],
    ),
    ...(texts === undefined ? [describeTexts(MAX_MIGRATIONS)] : []),
    ...migrations.flatMap(toTextDetails),
    ...flagIssues,
    ...shareIssues,
    ...findUnknownKeys(body, ["migrations", "definition", "declared", "dryRun", "share"]),
  ];
  if ("issues" in read || "issues" in declared || details.length > 0) throw invalid(details);
  const checked = migrations.flatMap((migration) => ("issues" in migration ? [] : [migration]));
  return {
    definition: read.definition,
    join: { migrations: checked, declared: declared.definition },
    options: { dryRun, share },
  };
}

function toTextDetails(read: ReturnType<typeof readMigration>, index: number): Detail[] {
  if (!("issues" in read)) return [];
  return read.issues.map((message) => ({ path: `/migrations/${index}`, message }));
}

function readTexts(value: unknown, maxCount: number): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxCount) return undefined;
  return value.every((item): item is string => typeof item === "string") ? value : undefined;
}

function describeTexts(max: number): Detail {
  const count = max === 1 ? "the text of one migration" : `1 to ${max} texts`;
  return { path: "/migrations", message: `Cannot read the migrations: must be a list of ${count}` };
}

/** Each migration can be as large as a push: other requests run in between. */
async function readMigrations(texts: readonly string[], appId: string) {
  const read: ReturnType<typeof readMigration>[] = [];
  for (const text of texts) {
    await acquireTurn(appId);
    read.push(readMigration(text));
  }
  return read;
}

function readMigration(text: string): CheckedMigration | { issues: string[] } {
  if (Buffer.byteLength(text) > MAX_MIGRATION_BYTES)
    return {
      issues: [`Cannot read this migration: it is larger than ${MAX_MIGRATION_BYTES} bytes`],
    };
  const parts = splitMigrationText(text);
  if (parts === undefined)
    return { issues: ["Cannot read this text as a migration: push did not write it in this form"] };
  const read = readMigrationDefinition(parts);
  const { change: _, ...rest } = parts;
  const changed = readMigrationChange(parts);
  if ("definition" in read && !("issues" in changed))
    return { ...rest, text, definition: read.definition, ...changed };
  const file = journalFileName(parts);
  const issues = [read, changed].flatMap((part) => ("issues" in part ? part.issues : []));
  return { issues: issues.map((issue) => `Cannot read ${file}: ${issue}`) };
}
