/**
 * Reads the bodies of requests that apply, plan or join the project's migrations, checked completely as hostile input.
 *
 * @module
 */
import type { Definition } from "../dsl/mod.ts";
import type { Detail } from "../problem.ts";
import { acquireTurn } from "./acquire_turn.ts";
import {
  type FieldReading,
  readDefinitionField,
  readDryRun,
  readFields,
  readShare,
} from "./body.ts";
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

export type ReplayBody = {
  definition: Definition;
  migrations: CheckedMigration[];
  /** The migration to apply; absent from a dry run. */
  next?: CheckedMigration;
  share: readonly string[] | undefined;
};

/** A body `{ migrations, definition, dryRun, share }`. @throws as {@linkcode readFields} */
export async function readReplayBody(
  body: Readonly<Record<string, unknown>>,
  appId: string,
): Promise<ReplayBody> {
  const max = body["dryRun"] === true ? MAX_PLANNED : 1;
  const fields = {
    definition: readDefinitionField(body["definition"]),
    migrations: await readMigrations(body["migrations"], { appId, max }),
    dryRun: readDryRun(body["dryRun"]),
    share: readShare(body["share"]),
  };
  const known = ["migrations", "definition", "dryRun", "share"];
  const { dryRun, ...read } = readFields(body, fields, known);
  const [next] = read.migrations;
  return { ...read, ...(dryRun || next === undefined ? {} : { next }) };
}

export type JoinBody = {
  definition: Definition;
  join: Join;
  options: { dryRun: boolean; share: readonly string[] | undefined };
};

/** A body `{ migrations, definition, declared, dryRun, share }`. @throws as {@linkcode readFields} */
export async function readJoinBody(
  body: Readonly<Record<string, unknown>>,
  appId: string,
): Promise<JoinBody> {
  const fields = {
    definition: readDefinitionField(body["definition"]),
    declared: readDefinitionField(body["declared"]),
    migrations: await readMigrations(body["migrations"], { appId, max: MAX_MIGRATIONS }),
    dryRun: readDryRun(body["dryRun"]),
    share: readShare(body["share"]),
  };
  const known = ["migrations", "definition", "declared", "dryRun", "share"];
  const { definition, declared, migrations, ...options } = readFields(body, fields, known);
  return { definition, join: { migrations, declared }, options };
}

/** Each migration can be as large as a push: other requests run in between. */
async function readMigrations(
  texts: unknown,
  { appId, max }: { appId: string; max: number },
): Promise<FieldReading<CheckedMigration[]>> {
  if (!isTextList(texts) || texts.length === 0 || texts.length > max) {
    const count = max === 1 ? "the text of one migration" : `1 to ${max} texts`;
    const message = `Cannot read the migrations: must be a list of ${count}`;
    return { details: [{ path: "/migrations", message }] };
  }
  const migrations: CheckedMigration[] = [];
  const details: Detail[] = [];
  for (const [index, text] of texts.entries()) {
    await acquireTurn(appId);
    const read = readMigration(text);
    if ("issues" in read)
      details.push(...read.issues.map((message) => ({ path: `/migrations/${index}`, message })));
    else migrations.push(read);
  }
  return details.length > 0 ? { details } : { value: migrations };
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
