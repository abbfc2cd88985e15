/**
 * Applies the project's migrations at a service that lacks them. Each is planned from the definition in its text, as if it were
 * pushed, in its own transaction. Also plans all of them, followed by changes without a migration.
 *
 * @module
 */
import type { Definition } from "../dsl/mod.ts";
import { Problem } from "../problem.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import { acquireTurn } from "./acquire_turn.ts";
import { advanceState } from "./advance_state.ts";
import { type PushDeps, type PushResult, push, toNames } from "./apply.ts";
import type { PushingApp } from "./begin_push.ts";
import { toTableNames } from "./change.ts";
import { describeDeleted } from "./deleted_values.ts";
import { type PlanSummary, summarizePlan } from "./migration.ts";
import { type Migration, type MigrationRecord, showMigration } from "./migration_text.ts";
import { preparePush } from "./prepare.ts";
import type { CheckedMigration } from "./replayed_migration.ts";
import { type AppliedMigration, type PushState, readState } from "./state.ts";

export type ReplayRequest = {
  app: PushingApp;
  /** The project's current definition. */
  definition: Definition;
  options: { journalBytes?: number; share?: readonly string[] | undefined };
};
/** The plan of one of the project's migrations. */
export type PlannedMigration = PlanSummary & { migration: MigrationRecord };
export type HistoryPlan = Omit<PushResult, "deferred"> & { replays: PlannedMigration[] };

/**
 * Applies the project's next migration, unless it is already applied. A migration without changes here is recorded
 * too.
 *
 * @throws {Problem} as {@linkcode push}, naming the migration
 */
export async function replay(
  deps: PushDeps,
  migration: CheckedMigration,
  { app, options, definition }: ReplayRequest,
): Promise<PushResult> {
  const request = { app, ...toRequest(migration, definition) };
  try {
    return await push(deps, { ...request, options: { ...options, dryRun: false } });
  } catch (error) {
    throw nameMigration(error, migration);
  }
}

/**
 * The plan of these migrations, followed by a push of the definition.
 *
 * @throws {Problem} the error of the first failing migration, with its name
 */
export async function planReplay(
  { admin }: Pick<PushDeps, "admin">,
  migrations: readonly CheckedMigration[],
  request: ReplayRequest,
): Promise<HistoryPlan> {
  const { app, definition, options } = request;
  const names = new Set([
    ...[definition, ...migrations.map((migration) => migration.definition)].flatMap(toNames),
    ...migrations.flatMap(({ change }) => toTableNames(change)),
  ]);
  let state = await readState(admin, app.id, [...names]);
  const replays: PlannedMigration[] = [];
  for (const named of migrations) {
    await acquireTurn(app.id);
    const { plan, migration, joins } = prepareNamed(state, named, request);
    if (migration === null) continue;
    const summary = summarizePlan(plan);
    const notes = [...describeDeleted(app, plan), ...summary.notes];
    replays.push({ migration: toRecord(migration), ...summary, notes });
    state = record(advanceState(state, app, plan), migration, joins);
  }
  const { plan, migration } = preparePush(state, { app, definition, options });
  const isNothing = migration === null && replays.length === 0;
  return {
    status: isNothing ? "unchanged" : "planned",
    migration,
    ...summarizePlan(plan),
    replays,
  };
}

function prepareNamed(
  state: PushState,
  migration: CheckedMigration,
  { app, options, definition }: ReplayRequest,
) {
  try {
    return preparePush(state, { app, options, ...toRequest(migration, definition) });
  } catch (error) {
    throw nameMigration(error, migration);
  }
}

/** The project's current definition decides the use of other apps' tables: its earlier definitions may never have fitted. */
function toRequest({ change, ...migration }: CheckedMigration, now: Definition) {
  const definition = canonicalJson(migration.definition);
  const isFollowed = definition !== canonicalJson(now);
  return {
    definition: migration.definition,
    migration: { ...migration, definition, isFollowed },
    change,
  };
}

function record(
  state: PushState,
  { seq, name, checksum, text, sql }: Migration,
  joins: readonly AppliedMigration[] = [{ seq, name, checksum }],
): PushState {
  const replaced = joins[0]?.seq ?? seq;
  return {
    ...state,
    migrations: [...state.migrations.filter((applied) => applied.seq < replaced), ...joins],
    journalBytes: state.journalBytes + Buffer.byteLength(text) + Buffer.byteLength(sql),
  };
}

function toRecord({ seq, name, parent, checksum }: Migration): MigrationRecord {
  return { seq, name, parent, checksum };
}

/** Adds the migration's name to the error, unless the message has it. */
function nameMigration(error: unknown, migration: CheckedMigration): unknown {
  const name = showMigration(migration);
  if (!(error instanceof Problem) || error.code === "push_busy" || error.message.includes(name))
    return error;
  const { code, details, headers, cause } = error;
  const message = error.message.replace(/^Cannot push: /, `Cannot apply ${name}: `);
  return new Problem(code, { message, headers, cause, ...(details ? { details } : {}) });
}
