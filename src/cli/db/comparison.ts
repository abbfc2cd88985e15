/** `rowhouse db status --to all`: compares the environments of a project: their histories and pending steps. @module */

import { relative } from "node:path";
import type { Definition } from "../../schema/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { showCount } from "../../std/count.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { compareHistory, type HistoryDifference } from "../../tables/history/history_difference.ts";
import { readJournal } from "../../tables/history/journal_files.ts";
import {
  describeMerge,
  findMerge,
  type Merge,
  type MergePlace,
} from "../../tables/history/merged_files.ts";
import { showMigration } from "../../tables/history/migration_text.ts";
import { toProjectHistory } from "../../tables/history/project_history.ts";
import { type CommandResult, EXIT, type ExitCode, type Setting, UsageError } from "../command.ts";
import { explain, type Failure, toExitCode, toFailure } from "../failures.ts";
import { PROJECT_FILE, type ProjectEnvironment, readEnvironments } from "../project_file.ts";
import { readSettings } from "../settings.ts";
import { toPrintableLine } from "../terminal.ts";
import { toDestination } from "./destination.ts";
import { evaluateSchema, findSchemaFile } from "./evaluate.ts";
import { findJournalFolder, toMergePlace } from "./journal.ts";
import { withService } from "./service.ts";
import { findSchema, planDefinition } from "./status.ts";

/** The state of an environment, compared with the folder. */
type Compared = HistoryDifference & {
  /** The file name of its last migration. */
  last: string | null;
  /** The steps of a push; `null` without a schema, or if the history does not allow a plan. */
  pending: string[] | null;
  /** The folder has the files of two branches. */
  merged?: { merge: Merge; place: MergePlace; journal: string };
};
type Row = { environment: ProjectEnvironment; outcome: Compared | Error };
type Schema = { file: string; definition: Definition } | undefined;

/** Exits with the most urgent code; changes nothing. */
export async function runComparison(setting: Setting): Promise<CommandResult> {
  const { folder, env } = setting;
  const environments = readEnvironments(folder);
  if (environments.length === 0)
    throw new UsageError(`No environments to compare: add them to ${PROJECT_FILE}`);
  const config = readSettings(env);
  const file = findSchema(setting);
  const schema: Schema =
    file === undefined ? undefined : { file, definition: await evaluateSchema(setting, file) };
  const shown = environments.map(({ name, url }) => `${name} (${url})`);
  setting.terminal.warn(`Destinations: ${shown.join(", ")}`);
  const rows = await Promise.all(
    environments.map(async (environment): Promise<Row> => {
      const outcome = await compare(setting, { environment, config, schema }).catch(toOutcome);
      return { environment, outcome };
    }),
  );
  const codes = rows.map(({ outcome }) => toCode(outcome));
  return {
    document: { environments: rows.map(toJson) },
    lines: [...toTable(rows), ...explainMerges(rows)],
    exitCode: URGENCY.find((code) => codes.includes(code)) ?? EXIT.done,
  };
}

type Comparing = { environment: ProjectEnvironment; config: Config; schema: Schema };

/** A failure in one environment is a row of the table and does not end the command. */
function toOutcome(error: unknown): Error {
  if (error instanceof Error) return error;
  throw error;
}

async function compare(
  setting: Setting,
  { environment, config, schema }: Comparing,
): Promise<Compared> {
  const destination = await toDestination(setting, environment.name);
  const file = schema?.file ?? findSchemaFile(setting);
  const folder = findJournalFolder(setting, file, destination);
  const journal = folder === undefined ? "" : relative(setting.folder, folder);
  return await withService(destination, { config, terminal: setting.terminal }, async (service) => {
    const { migrations } = await service.status();
    const history = toProjectHistory(migrations);
    const files = folder === undefined ? [] : await readJournal(folder);
    // The history of a `dev` is its own.
    const difference =
      folder === undefined ? { ahead: 0, behind: 0 } : compareHistory(files, history);
    const head = history.at(-1);
    const last = head === undefined ? null : showMigration(head);
    const merge = findMerge(files);
    if (merge !== undefined) {
      const merged = { merge, place: toMergePlace(destination, history), journal };
      return { last, ...difference, pending: null, merged };
    }
    const isPlannable = schema !== undefined && difference.behind === 0;
    const pending = isPlannable
      ? await planDefinition(setting, { ...schema, destination, service, migrations })
      : null;
    return { last, ...difference, pending };
  });
}

/** Exit codes by urgency. */
const URGENCY: readonly ExitCode[] = [
  EXIT.rejected,
  EXIT.usage,
  EXIT.unauthenticated,
  EXIT.unreachable,
  EXIT.pending,
];

function toCode(outcome: Compared | Error): ExitCode {
  if (outcome instanceof Error) return toExitCode(outcome);
  const { ahead, behind, pending, merged } = outcome;
  if (merged !== undefined || (ahead > 0 && behind > 0)) return EXIT.rejected;
  return ahead + behind + (pending?.length ?? 0) > 0 ? EXIT.pending : EXIT.done;
}

/** The remedy for each folder with the files of two branches, over all its environments. */
function explainMerges(rows: readonly Row[]): string[] {
  const found = rows.flatMap(({ outcome }) =>
    outcome instanceof Error ? [] : (outcome.merged ?? []),
  );
  return [...Map.groupBy(found, ({ journal }) => journal)].flatMap(
    ([journal, merges]) => describeMerges(journal, merges).lines,
  );
}

type Merged = NonNullable<Compared["merged"]>;

function describeMerges(journal: string, merges: readonly Merged[]) {
  const places = merges.map(({ place }) => place);
  return describeMerge(merges[0]?.merge ?? [], places, journal);
}

function toMergeFailure({ merged }: Compared): Failure | null {
  if (merged === undefined) return null;
  const { lines, details } = describeMerges(merged.journal, [merged]);
  return { error: "edited_migration", message: lines[0] ?? "", details };
}

function toJson({ environment: { name, url }, outcome }: Row) {
  const failure: Failure | null =
    outcome instanceof Error ? toFailure(outcome) : toMergeFailure(outcome);
  const { last, ahead, behind, pending } =
    outcome instanceof Error ? { last: null, ahead: null, behind: null, pending: null } : outcome;
  return { environment: name, url, last, ahead, behind, pending, failure };
}

const HEADINGS = ["environment", "last migration", "history", "state"];

function toTable(rows: readonly Row[]): string[] {
  const cells = [HEADINGS, ...rows.map(toCells)];
  const widths = HEADINGS.map((_, column) =>
    Math.max(...cells.map((row) => (row[column] ?? "").length)),
  );
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function toCells({ environment: { name }, outcome }: Row): string[] {
  if (outcome instanceof Error) {
    const [opening = ""] = explain(outcome).split("\n");
    const term = toExitCode(outcome) === EXIT.unreachable ? "unreachable: " : "";
    return [name, "-", "-", toPrintableLine(`${term}${opening}`)];
  }
  return [
    name,
    toPrintableLine(outcome.last ?? "-"),
    showHistory(outcome),
    showState(name, outcome),
  ];
}

function showHistory({ ahead, behind, merged }: Compared): string {
  if (merged !== undefined) return "-";
  const parts = [
    ...(behind > 0 ? [`${behind} behind`] : []),
    ...(ahead > 0 ? [`${ahead} ahead`] : []),
  ];
  return parts.length === 0 ? "same" : parts.join(", ");
}

function showState(environment: string, { ahead, behind, pending, merged }: Compared): string {
  if (merged !== undefined) return "the folder has the migrations of two branches";
  if (ahead > 0 && behind > 0)
    return `diverged: rowhouse db resolve --to ${quoteForShell(environment)}`;
  if (behind > 0) return `not up to date: rowhouse db push --to ${quoteForShell(environment)}`;
  const steps = pending?.length ?? 0;
  const waiting =
    steps === 0
      ? ""
      : `${showCount(steps, "step")} pending: rowhouse db plan --to ${quoteForShell(environment)}`;
  if (ahead > 0)
    return [
      `files are missing here: rowhouse db pull --to ${quoteForShell(environment)}`,
      ...(waiting ? [waiting] : []),
    ].join("; ");
  if (pending === null) return "no schema in this folder";
  return waiting || "up to date";
}
