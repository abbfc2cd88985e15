/** Reads a push, checked completely as hostile input. @module */
import type * as v from "valibot";
import { type Detail, Problem } from "../problem.ts";
import { isObject } from "../std/json.ts";
import { MAX_STEPS, type PushBody } from "./bodies.ts";
import type { CheckedMigration } from "./history/replayed_migration.ts";
import type { Reading } from "./issues.ts";
import { MAX_MIGRATIONS_SENT } from "./limits.ts";
import type { PushRequest } from "./push.ts";
import type { PushStep } from "./push_step.ts";
import { isMigrationText, readSentText, type SentText } from "./sent_text.ts";
import { acquireTurn } from "./turns.ts";
import type { Work } from "./work.ts";

/**
 * The request in a body. Its migrations are read last and in turns of the app, because each can be as large as a push.
 *
 * @throws {Problem} invalid_schema — with all errors
 */
export async function readPush(
  work: Work,
  { appId, body }: { appId: string; body: unknown },
): Promise<Omit<PushRequest, "app">> {
  const read = await work(appId, "readBody", body);
  const texts = await readEach(work, listTexts(body), appId);
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
  work: Work,
  texts: readonly SentText[],
  appId: string,
): Promise<CheckedMigration[]> {
  const read = await readEach(work, texts, appId);
  const details = read.flatMap((text) => ("details" in text ? text.details : []));
  if (details.length > 0) throw invalid(details);
  return read.flatMap((text) => ("value" in text ? [text.value] : []));
}

/** Each text's migration, or its errors. A text that is no migration costs no turn. */
async function readEach(
  work: Work,
  texts: readonly SentText[],
  appId: string,
): Promise<Reading<CheckedMigration>[]> {
  const read: Reading<CheckedMigration>[] = [];
  for (const sent of texts) {
    const isMigration = isMigrationText(sent.text);
    if (isMigration) await acquireTurn(appId);
    read.push(isMigration ? await work(appId, "readText", sent) : readSentText(sent));
  }
  return read;
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
