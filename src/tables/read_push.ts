/** Reads a push, checked completely as hostile input. @module */
import type * as v from "valibot";
import { type Detail, Problem } from "../problem.ts";
import { isObject } from "../std/json.ts";
import { MAX_STEPS, PushBody } from "./bodies.ts";
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
import { type Reading, readValue } from "./issues.ts";
import { MAX_MIGRATIONS_SENT } from "./limits.ts";
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
  const texts = await readEach(listTexts(body), appId);
  const details = [
    ...("details" in read ? read.details : findSteps(read.value)),
    ...texts.flatMap((text) => ("details" in text ? text.details : [])),
  ];
  if ("details" in read || details.length > 0) throw invalid(details);
  const { steps: sent, journal, dryRun = false, share } = read.value;
  const migrations = texts.flatMap((text) => ("value" in text ? [text.value] : [])).values();
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

function findSteps({ steps, dryRun }: v.InferOutput<typeof PushBody>): Detail[] {
  return steps.length > 1 && dryRun !== true ? [{ path: "/steps", message: ONE_STEP }] : [];
}

const ONE_STEP = "Must have one entry; several steps can only be planned, with dryRun";

/** The text of a migration, and its path in the body. */
type SentText = { text: string; path: string };

/** The texts in a body, which can have errors. Lists that are too long are not read. */
function listTexts(body: unknown): SentText[] {
  const steps = isObject(body) ? listUpTo(body["steps"], MAX_STEPS) : [];
  return steps.flatMap((step, index): SentText[] => {
    if (!isObject(step)) return [];
    const path = `/steps/${index}`;
    if (step["kind"] === "migration") return toText(step["text"], `${path}/text`);
    if (step["kind"] !== "join") return [];
    return listUpTo(step["migrations"], MAX_MIGRATIONS_SENT).flatMap((text, nth) =>
      toText(text, `${path}/migrations/${nth}`),
    );
  });
}

function listUpTo(value: unknown, max: number): unknown[] {
  return Array.isArray(value) && value.length <= max ? value : [];
}

function toText(text: unknown, path: string): SentText[] {
  return typeof text === "string" ? [{ text, path }] : [];
}

/**
 * The migrations in texts.
 *
 * @throws {Problem} invalid_schema — with all errors
 */
export async function readTexts(
  texts: readonly SentText[],
  appId: string,
): Promise<CheckedMigration[]> {
  const read = await readEach(texts, appId);
  const details = read.flatMap((text) => ("details" in text ? text.details : []));
  if (details.length > 0) throw invalid(details);
  return read.flatMap((text) => ("value" in text ? [text.value] : []));
}

/** Each text's migration, or its errors. A text that is no migration costs no turn. */
async function readEach(
  texts: readonly SentText[],
  appId: string,
): Promise<Reading<CheckedMigration>[]> {
  const read: Reading<CheckedMigration>[] = [];
  for (const { text, path } of texts) {
    const parts = splitText(text);
    if ("value" in parts) await acquireTurn(appId);
    const reading = "value" in parts ? readMigration(parts.value) : parts;
    read.push(
      "value" in reading
        ? reading
        : { details: reading.details.map(({ message }) => ({ path, message })) },
    );
  }
  return read;
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
