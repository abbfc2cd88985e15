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
import { journalFileName } from "./journal.ts";
import { MAX_MIGRATIONS_SENT } from "./limits.ts";
import {
  MAX_MIGRATION_BYTES,
  type MigrationParts,
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
  const max = body["dryRun"] === true ? MAX_MIGRATIONS_SENT : 1;
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
    migrations: await readMigrations(body["migrations"], { appId, max: MAX_MIGRATIONS_SENT }),
    dryRun: readDryRun(body["dryRun"]),
    share: readShare(body["share"]),
  };
  const known = ["migrations", "definition", "declared", "dryRun", "share"];
  const { definition, declared, migrations, ...options } = readFields(body, fields, known);
  return { definition, join: { migrations, declared }, options };
}

/**
 * Splits all texts first, so that a text that is no migration costs no turn. Each migration can be as large as a push: other
 * requests run in between.
 */
async function readMigrations(
  texts: unknown,
  { appId, max }: { appId: string; max: number },
): Promise<FieldReading<CheckedMigration[]>> {
  if (!isTextList(texts) || texts.length === 0 || texts.length > max) {
    const count = max === 1 ? "the text of one migration" : `1 to ${max} texts`;
    const message = `Cannot read the migrations: must be a list of ${count}`;
    return { details: [{ path: "/migrations", message }] };
  }
  const split = readEach(texts, splitText);
  if ("details" in split) return split;
  const read: (CheckedMigration | Unreadable)[] = [];
  for (const parts of split.value) {
    await acquireTurn(appId);
    read.push(readMigration(parts));
  }
  return readEach(read, (migration) => migration);
}

type Unreadable = { issues: string[] };

/** Every reading, or the issues of all. */
function readEach<Item, Value extends object>(
  items: readonly Item[],
  read: (item: Item) => Value | Unreadable,
): FieldReading<Value[]> {
  const values: Value[] = [];
  const details: Detail[] = [];
  for (const [index, item] of items.entries()) {
    const reading = read(item);
    if (!("issues" in reading)) values.push(reading);
    else
      details.push(...reading.issues.map((message) => ({ path: `/migrations/${index}`, message })));
  }
  return details.length > 0 ? { details } : { value: values };
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

type SplitText = MigrationParts & { text: string };

function splitText(text: string): SplitText | Unreadable {
  if (Buffer.byteLength(text) > MAX_MIGRATION_BYTES)
    return {
      issues: [`Cannot read this migration: it is larger than ${MAX_MIGRATION_BYTES} bytes`],
    };
  const parts = splitMigrationText(text);
  if (parts !== undefined) return { ...parts, text };
  return { issues: ["Cannot read this text as a migration: push did not write it in this form"] };
}

function readMigration(parts: SplitText): CheckedMigration | Unreadable {
  const { change: _, ...rest } = parts;
  const read = readMigrationDefinition(parts);
  const changed = readMigrationChange(parts);
  if ("definition" in read && !("issues" in changed))
    return { ...rest, definition: read.definition, ...changed };
  const file = journalFileName(parts);
  const issues = [read, changed].flatMap((part) => ("issues" in part ? part.issues : []));
  return { issues: issues.map((issue) => `Cannot read ${file}: ${issue}`) };
}
