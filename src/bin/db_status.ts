/** `rowhouse db status`: what is recorded of an app, what its schema would change, and to operators who else is there. @module */
import { existsSync } from "node:fs";
import type { Migration, Status, TableApps } from "../push/mod.ts";
import { EXIT, type ExitCode, type Setting } from "./command.ts";
import { evaluateSchema, findSchemaFile } from "./db_evaluate.ts";
import { findPlace, type SchemaService, withService } from "./db_service.ts";
import { openLog } from "./open.ts";
import { readSettings } from "./settings.ts";
import { toDocument, toPrintable } from "./terminal.ts";

/** Changes nothing; exits with 1 where the database is not as pushes recorded it. */
export async function runStatus(setting: Setting): Promise<ExitCode> {
  const { args, env, folder, terminal } = setting;
  const config = readSettings(env);
  const place = findPlace(args, config, folder);
  const told = await withService(place, config, async (service) => ({
    status: await service.status(),
    pending: await findPending(setting, service),
    apps: (await service.apps?.()) ?? null,
    drift: (await service.drift?.()) ?? null,
  }));
  const { status, pending, apps, drift } = told;
  if (args.has("json")) {
    const { app, deferredSteps } = status;
    const migrations = status.migrations.map(({ seq, name, checksum }) => ({
      seq,
      name,
      checksum,
    }));
    const tables = status.tables.map(({ name }) => name);
    terminal.say(toDocument({ app, tables, pending, migrations, deferredSteps, apps, drift }));
  } else {
    for (const line of describeStatus(status, apps)) terminal.say(line);
    if (pending !== null) terminal.say(describePending(pending));
    for (const { thing, wanted, found } of drift ?? [])
      terminal.say(toPrintable(`Drift: ${thing}: wanted ${wanted}, found ${found}`));
  }
  return drift !== null && drift.length > 0 ? EXIT.refused : EXIT.done;
}

/** The steps that a push of the folder's schema would take; `null` where the folder has none. */
async function findPending(setting: Setting, service: SchemaService): Promise<string[] | null> {
  const typed = setting.args.text("schema");
  const file = findSchemaFile(setting.folder, typed);
  if (typed === undefined && !existsSync(file)) return null;
  const definition = await evaluateSchema({ ...setting, file });
  const plan = { definition, journal: [], dryRun: true, sharedUnique: false };
  const log = openLog(readSettings(setting.env), setting.terminal.warn);
  return (await service.push(plan, log)).steps;
}

function describePending(steps: readonly string[]): string {
  if (steps.length === 0) return "The schema is up to date";
  return `Pending: ${steps.length} ${steps.length === 1 ? "step" : "steps"}; rowhouse db plan tells them`;
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
    ...migrations.map((one) => `  ${showMigration(one)}  ${one.checksum.slice(0, 19)}`),
    ...deferredSteps
      .filter(({ state }) => state !== "done")
      .map(
        ({ kind, table, columns, state, fault }) =>
          `  ${kind} (${columns.join(", ")}) of ${table}: ${state}${fault === null ? "" : `, ${fault}`}`,
      ),
  ];
}

/** A migration by its number and name, as its file is called. */
export function showMigration({ seq, name }: Pick<Migration, "seq" | "name">): string {
  return `${String(seq).padStart(4, "0")}_${name}`;
}
