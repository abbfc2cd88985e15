/**
 * `rowhouse db status`: shows an app's recorded migrations, pending changes, and for operators, the other apps of its
 * tables.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { Problem } from "../../problem.ts";
import type { Definition } from "../../schema/mod.ts";
import type { Config } from "../../settings/mod.ts";
import { showCount } from "../../std/count.ts";
import { showMigration } from "../../tables/history/migration_text.ts";
import type { RecordedMigration } from "../../tables/history/project_history.ts";
import type { Status, TableApps } from "../../tables/history/status.ts";
import { EXIT, type ExitCode, RejectedError, type Setting, type Terminal } from "../command.ts";
import { explain, toFailure } from "../failures.ts";
import { readSettings } from "../settings.ts";
import { toDocument } from "../terminal.ts";
import { findDestination } from "./destination.ts";
import { evaluateSchema, findSchemaFile } from "./evaluate.ts";
import { planHistory } from "./history.ts";
import { checkJournalFiles, findJournalFolder } from "./journal.ts";
import { findOwnDev, pushOwnDev } from "./own_dev.ts";
import type { Pushed, SchemaService } from "./schema_service.ts";
import { type Destination, withDestination, withService } from "./service.ts";
import { readShare } from "./sharing.ts";

/** Changes nothing; exits with 1 if the database differs from the record, or the schema cannot be pushed. */
export async function runStatus(setting: Setting): Promise<ExitCode> {
  const { args, env, terminal } = setting;
  const config = readSettings(env);
  const destination = await findDestination(setting, config);
  const state = await withService(destination, { config, terminal }, async (service) => {
    const status = await service.status();
    return {
      status,
      pending: await findPending(setting, {
        ...{ config, destination, service, migrations: status.migrations },
      }),
      apps: (await service.apps?.()) ?? null,
      drift: await findDrift(service, terminal),
    };
  });
  const { status, pending, apps, drift } = state;
  const failure = pending instanceof Error ? toFailure(pending) : null;
  if (args.has("json")) {
    const { app, deferredSteps } = status;
    const migrations = status.migrations.map(({ seq, name, checksum, joins }) => {
      const head = joins?.at(-1);
      return { seq, name, checksum, joins: head === undefined ? null : showMigration(head) };
    });
    const tables = status.tables.map(({ name }) => name);
    const steps = pending instanceof Error ? null : pending;
    const known = { app, tables, pending: steps, migrations, deferredSteps, apps, drift };
    terminal.print(toDocument({ ...known, schema: failure }));
  } else {
    for (const line of describeStatus(status, apps)) terminal.print(line);
    if (pending instanceof Error) terminal.warn(explain(pending));
    else if (pending !== null) terminal.print(describePending(pending, destination));
    for (const { thing, wanted, found } of drift ?? [])
      terminal.print(`Drift: ${thing}: expected ${wanted}, found ${found}`);
  }
  const isWell = failure === null && (drift ?? []).length === 0;
  return isWell ? EXIT.done : EXIT.rejected;
}

/** `null` if this is not an operator, or a table is locked; the rest of the status is still shown. */
async function findDrift(service: SchemaService, { warn }: Terminal): Promise<Drift> {
  try {
    return (await service.drift?.()) ?? null;
  } catch (error) {
    if (!(error instanceof Problem && error.code === "push_busy")) throw error;
    warn("Notice: a table is locked, so the database was not compared with the recorded pushes");
    return null;
  }
}

type Drift = Awaited<ReturnType<NonNullable<SchemaService["drift"]>>> | null;
type Pending = string[] | null | RejectedError | Problem;

type Recorded = {
  config: Config;
  destination: Destination;
  service: SchemaService;
  migrations: readonly RecordedMigration[];
};

/** The steps, or the error that prevents a push; `null` without a schema. */
async function findPending(setting: Setting, recorded: Recorded): Promise<Pending> {
  const file = findSchema(setting);
  if (file === undefined) return null;
  try {
    const { config, destination } = recorded;
    const dev = findOwnDev(setting, destination);
    if (dev !== undefined) {
      const task = { ...dev, config, waitS: 0, share: readShare(setting), dryRun: true };
      return listSteps((await pushOwnDev(setting, task)).result);
    }
    const definition = await evaluateSchema(setting, file);
    return await planDefinition(setting, { ...recorded, file, definition });
  } catch (error) {
    if (isPlanFailure(error)) return error;
    throw error;
  }
}

/** Errors that are reported with the status, which does not require a plan. */
const PLAN_FAILURES: readonly string[] = [
  "invalid_schema",
  "incompatible_schema",
  "edited_migration",
  "diverged_history",
  "isolation_issues",
];

function isPlanFailure(error: unknown): error is RejectedError | Problem {
  if (error instanceof Problem) return PLAN_FAILURES.includes(error.code);
  return error instanceof RejectedError && PLAN_FAILURES.includes(error.report.code ?? "");
}

/** The schema file; `undefined` if `--schema` is not set and the default file does not exist. */
export function findSchema(setting: Setting): string | undefined {
  const file = findSchemaFile(setting);
  return setting.args.has("schema") || existsSync(file) ? file : undefined;
}

/** The steps of a push of this definition. */
export async function planDefinition(
  setting: Setting,
  schema: Omit<Recorded, "config"> & { file: string; definition: Definition },
): Promise<string[]> {
  const { destination, service, migrations, file, definition } = schema;
  const { folder } = setting;
  const journal = findJournalFolder(setting, file, destination);
  const { entries, ahead } = await checkJournalFiles({ folder, journal, destination }, migrations);
  const plan = await planHistory({
    service,
    definition,
    entries,
    ahead,
    share: readShare(setting),
  });
  return listSteps(plan);
}

function listSteps({ replays = [], steps }: Pushed): string[] {
  return [...replays.flatMap((replay) => replay.steps), ...steps];
}

function describePending(steps: readonly string[], destination: Destination): string {
  if (steps.length === 0) return "The schema is up to date";
  const plan = withDestination("rowhouse db plan", destination);
  return `Pending: ${showCount(steps.length, "step")}; see ${plan}`;
}

/** Marks a migration that joins the project's history. */
function showJoin({ joins }: RecordedMigration): string {
  const head = joins?.at(-1);
  return head === undefined ? "" : `  joins ${showMigration(head)}`;
}

function describeStatus(status: Status, apps: readonly TableApps[] | null): string[] {
  const { app, tables, migrations, deferredSteps } = status;
  const named = tables.map(({ name, owned }) => (owned ? name : `${name} (shared)`));
  return [
    `App ${app}: ${named.length === 0 ? "no tables" : named.join(", ")}`,
    ...(apps ?? []).map(
      ({ table, owner, users }) =>
        `  ${table}: owned by ${owner}, used by ${users.length === 0 ? "no other app" : users.join(", ")}`,
    ),
    ...migrations.map(
      (migration) =>
        `  ${showMigration(migration)}  ${migration.checksum.slice(0, 19)}${showJoin(migration)}`,
    ),
    ...deferredSteps
      .filter(({ state }) => state !== "done")
      .map(
        ({ kind, table, columns, state, fault }) =>
          `  ${kind} (${columns.join(", ")}) of ${table}: ${state}${fault === null ? "" : `, ${fault}`}`,
      ),
  ];
}
