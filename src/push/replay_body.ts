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
  const max = dryRun ? MAX_PLANNED : 1;
  const { migrations, details: textIssues } = await readMigrations(body, { appId, max });
  const details = [
    ...("issues" in read ? read.issues.map(toDetail) : []),
    ...textIssues,
    ...flagIssues,
    ...shareIssues,
    ...findUnknownKeys(body, KEYS),
  ];
  if ("issues" in read || details.length > 0) throw invalid(details);
  const [next] = migrations;
  return {
    definition: read.definition,
    migrations,
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
  const texts = await readMigrations(body, { appId, max: MAX_MIGRATIONS });
  const details = [
    ...[read, declared].flatMap((checkedDefinition) =>
      "issues" in checkedDefinition ? checkedDefinition.issues.map(toDetail) : [],
    ),
    ...texts.details,
    ...flagIssues,
    ...shareIssues,
    ...findUnknownKeys(body, ["migrations", "definition", "declared", "dryRun", "share"]),
  ];
  if ("issues" in read || "issues" in declared || details.length > 0) throw invalid(details);
  return {
    definition: read.definition,
    join: { migrations: texts.migrations, declared: declared.definition },
    options: { dryRun, share },
  };
}

/** Each migration can be as large as a push: other requests run in between. */
async function readMigrations(
  { migrations: texts }: Readonly<Record<string, unknown>>,
  { appId, max }: { appId: string; max: number },
): Promise<{ migrations: CheckedMigration[]; details: Detail[] }> {
  const migrations: CheckedMigration[] = [];
  const details: Detail[] = [];
  if (!isTextList(texts) || texts.length === 0 || texts.length > max) {
    const count = max === 1 ? "the text of one migration" : `1 to ${max} texts`;
    const message = `Cannot read the migrations: must be a list of ${count}`;
    return { migrations, details: [{ path: "/migrations", message }] };
  }
  for (const [index, text] of texts.entries()) {
    await acquireTurn(appId);
    const read = readMigration(text);
    if ("issues" in read)
      details.push(...read.issues.map((message) => ({ path: `/migrations/${index}`, message })));
    else migrations.push(read);
  }
  return { migrations, details };
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
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
