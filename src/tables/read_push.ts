/** Reads a push, checked completely as hostile input. @module */
import type * as v from "valibot";
import { type Detail, Problem } from "../problem.ts";
import { PushBody } from "./bodies.ts";
import { journalFileName } from "./history/journal.ts";
import {
  MAX_MIGRATION_BYTES,
  type Migration,
  readMigrationChange,
  readMigrationDefinition,
  splitMigrationText,
} from "./history/migration_text.ts";
import type { CheckedMigration } from "./history/replayed_migration.ts";
import { type Reading, readValue } from "./issues.ts";
import type { PushRequest } from "./push.ts";
import type { PushStep } from "./push_step.ts";
import { acquireTurn } from "./sql/begin_push.ts";

/**
 * The request in a body. Its migrations are read last and in turns of the app, because each can be as large as a push.
 *
 * @throws {Problem} invalid_schema — with all errors
 */
export async function readPush(body: unknown, appId: string): Promise<Omit<PushRequest, "app">> {
  const read = readValue(PushBody, body);
  if ("details" in read) throw invalid(read.details);
  const { steps: sent, journal, dryRun = false, share } = read.value;
  if (!dryRun && sent.length > 1) throw invalid([{ path: "/steps", message: ONE_STEP }]);
  const texts = sent.flatMap((step, index) => toTexts(step, `/steps/${index}`));
  const migrations = (await readTexts(texts, appId)).values();
  const next = () => {
    const { value } = migrations.next();
    if (value === undefined) throw new Error("A migration was not read");
    return value;
  };
  const steps = sent.map((step): PushStep => {
    if (step.kind === "migration")
      return { kind: "migration", migration: next(), isFollowed: step.followed === true };
    return step.kind === "join" ? { ...step, migrations: step.migrations.map(next) } : step;
  });
  return { steps, journal, options: { dryRun, share } };
}

const ONE_STEP = "Must have one entry; several steps can only be planned, with dryRun";

/** The text of a migration, and its path in the body. */
type SentText = { text: string; path: string };

function toTexts(step: v.InferOutput<typeof PushBody>["steps"][number], path: string): SentText[] {
  if (step.kind === "migration") return [{ text: step.text, path: `${path}/text` }];
  if (step.kind !== "join") return [];
  return step.migrations.map((text, index) => ({ text, path: `${path}/migrations/${index}` }));
}

/**
 * The migrations in texts. Splits all texts first, so that a text that is no migration costs no turn.
 *
 * @throws {Problem} invalid_schema — with all errors
 */
export async function readTexts(
  texts: readonly SentText[],
  appId: string,
): Promise<CheckedMigration[]> {
  const split = texts.map(({ text }) => splitText(text));
  checkReadings(texts, split);
  const read: Reading<CheckedMigration>[] = [];
  for (const parts of split) {
    await acquireTurn(appId);
    read.push("value" in parts ? readMigration(parts.value) : parts);
  }
  checkReadings(texts, read);
  return read.flatMap((reading) => ("value" in reading ? [reading.value] : []));
}

function checkReadings(texts: readonly SentText[], readings: readonly Reading<unknown>[]): void {
  const details = readings.flatMap((reading, index) =>
    "value" in reading
      ? []
      : reading.details.map(({ message }) => ({ path: texts[index]?.path ?? "", message })),
  );
  if (details.length > 0) throw invalid(details);
}

function splitText(text: string): Reading<Migration> {
  if (Buffer.byteLength(text) > MAX_MIGRATION_BYTES)
    return toIssues([`Cannot read this migration: it is larger than ${MAX_MIGRATION_BYTES} bytes`]);
  const parts = splitMigrationText(text);
  if (parts !== undefined) return { value: parts };
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

/** Max listed errors. The last entry then counts the rest. */
const MAX_DETAILS = 200;

function invalid(details: readonly Detail[]): Problem {
  const count = details.length;
  const rest = count - MAX_DETAILS + 1;
  return new Problem("invalid_schema", {
    message: `Cannot push: the request has ${count} ${count === 1 ? "error" : "errors"}; nothing was written`,
    details:
      rest <= 1
        ? [...details]
        : [
            ...details.slice(0, MAX_DETAILS - 1),
            { path: "", message: `Cannot list ${rest} more errors: fix these first` },
          ],
  });
}
