/** The text of a migration in the body of a push, checked completely as hostile input. Pure. @module */
import type { Detail } from "../problem.ts";
import { journalFileName } from "./history/journal.ts";
import {
  describeNewerMigration,
  MAX_MIGRATION_BYTES,
  type Migration,
  readMigrationChange,
  readMigrationDefinition,
  splitMigrationText,
} from "./history/migration_text.ts";
import type { CheckedMigration } from "./history/replayed_migration.ts";
import type { Reading } from "./issues.ts";

/** The text of a migration, and its path in the body. */
export type SentText = { text: string; path: string };

/** The migration in a text, or its errors. */
export function readSentText({ text, path }: SentText): Reading<CheckedMigration> {
  const parts = splitText(text);
  const reading = "value" in parts ? readMigration(parts.value) : parts;
  if ("value" in reading) return reading;
  return { details: reading.details.map(({ message }) => ({ path, message })) };
}

/** Whether the text has the form of a migration, whose reading needs CPU. */
export function isMigrationText(text: string): boolean {
  return "value" in splitText(text);
}

function splitText(text: string): Reading<Migration> {
  if (Buffer.byteLength(text) > MAX_MIGRATION_BYTES)
    return toIssues([`Cannot read this migration: it is larger than ${MAX_MIGRATION_BYTES} bytes`]);
  const parts = splitMigrationText(text);
  if (parts !== undefined) return { value: parts };
  const newer = describeNewerMigration(text, "this service");
  if (newer !== undefined)
    return toIssues([`Cannot read this migration: it ${newer} for the service`]);
  return toIssues(["Cannot read this text as a migration: push did not write it in this form"]);
}

function readMigration(parts: Migration): Reading<CheckedMigration> {
  const { change: _, ...rest } = parts;
  const read = readMigrationDefinition(parts);
  const changed = readMigrationChange(parts);
  if ("definition" in read && !("issues" in changed))
    return { value: { ...rest, definition: read.definition, ...changed } };
  const file = journalFileName(parts);
  const issues = [read, changed].flatMap((part) => ("issues" in part ? part.issues : []));
  return toIssues(issues.map((issue) => `Cannot read ${file}: ${issue}`));
}

function toIssues(messages: readonly string[]): { details: Detail[] } {
  return { details: messages.map((message) => ({ path: "", message })) };
}
