/**
 * A push: the steps of a request, each of which defines the schema, changes a part of it, applies a migration of the project or
 * joins diverged histories. One step is applied in one transaction; any number is planned, each after those before it.
 *
 * @module
 */
import type { Database } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import type { Definition } from "../schema/mod.ts";
import {
  type ApplyRequest,
  applyStep,
  type PushDeps,
  prepare,
  renderFunctionSteps,
} from "./apply.ts";
import type { RowCounts } from "./conflicts.ts";
import {
  applyChange,
  type Head,
  hasMoved,
  NO_CHANGE,
  planChangeStep,
  readHead,
} from "./history/apply_change.ts";
import { checkJournal } from "./history/journal.ts";
import type { Applied, MigrationRecord } from "./history/migration_text.ts";
import { advanceState } from "./plan/advanced_state.ts";
import type { Change } from "./plan/change.ts";
import type { PreparedPush } from "./plan/prepare.ts";
import { busy, nodeUnreachable } from "./plan/rejections.ts";
import { describeDeleted } from "./plan/retype_messages.ts";
import { findWidened } from "./plan/step.ts";
import { describeWidened } from "./push_key.ts";
import { findChange, listTables, nameStep, type PushStep } from "./push_step.ts";
import type { FunctionSizes } from "./sql/function_steps.ts";
import { type PlanSummary, summarizePlan } from "./sql/migration.ts";
import { type PushState, readState } from "./state.ts";
import { acquireTurn } from "./turns.ts";
import { workInPlace } from "./work.ts";

export type PushRequest = Omit<ApplyRequest, "options"> & {
  /** One, or with `dryRun` any number. */
  steps: readonly PushStep[];
  options: ApplyRequest["options"] & { dryRun: boolean };
};

/** The plan of a step. `rows`: for an explicit change, if they were counted. */
export type Planned = PlanSummary & { migration: MigrationRecord | null; rows: RowCounts | null };

/** The result of the last step. `earlier`: of a dry run, the plans of the steps before it. */
export type PushResult = Planned & {
  status: "applied" | "unchanged" | "planned";
  migration: Applied | null;
  earlier: Planned[];
  /** Settles when this process has no deferred step left to work on. Never rejects. */
  deferred: Promise<void>;
};

/**
 * Applies a step, or plans any number of steps. Every node participates. If a node hangs, the push fails early, so that other
 * nodes do not wait for it.
 *
 * @throws {Problem} as {@linkcode applyStep}, naming the migration; unavailable
 */
export async function push(deps: PushDeps, request: PushRequest): Promise<PushResult> {
  rejectSilence(deps.admin, undefined);
  try {
    return request.options.dryRun ? await planSteps(deps, request) : await apply(deps, request);
  } catch (error) {
    if (error instanceof Problem && error.code === "timeout") rejectSilence(deps.admin, error);
    throw error;
  }
}

/** @throws {Problem} unavailable — a node hangs */
function rejectSilence({ findSilentNode }: Database, cause: Problem | undefined): void {
  const node = findSilentNode();
  if (node !== undefined) throw nodeUnreachable(node, cause);
}

async function apply(deps: PushDeps, { steps, ...request }: PushRequest): Promise<PushResult> {
  const [step, ...more] = steps;
  if (step === undefined || more.length > 0) throw new Error("Only one step can be applied");
  const earlier: Planned[] = [];
  if (step.kind === "change")
    return { ...(await applyChange(deps, { ...request, change: step.change })), earlier };
  try {
    return { ...(await applyStep(deps, { ...request, step })), rows: null, earlier };
  } catch (error) {
    throw nameStep(error, steps, 0);
  }
}

/** A planned step, and the state after it. */
type Outcome = { planned: Planned & { migration: Applied | null }; next: Situation };
type Situation = { state: PushState; head: Head | undefined; sizes?: FunctionSizes | undefined };

async function planSteps(
  deps: PushDeps,
  { app, steps, journal, options }: PushRequest,
): Promise<PushResult> {
  const { admin } = deps;
  const isChanging = steps.some(({ kind }) => kind === "change");
  const head = isChanging ? await readHead(admin, app.id) : undefined;
  const names = [...new Set(steps.flatMap(listTables))];
  const state = await readState(admin, app.id, names, options.largeTablePages);
  if (hasMoved(head, state)) throw busy();
  if (journal !== undefined) checkJournal(journal, state.migrations);
  const planned: Outcome["planned"][] = [];
  let now: Situation = { state, head };
  for (const [index, step] of steps.entries()) {
    await acquireTurn(app.id);
    const isLater = planned.length > 0;
    const outcome = await planStep(deps, { app, step, options, isLater }, now).catch(
      (error: unknown) => {
        throw nameStep(error, steps, index);
      },
    );
    planned.push(outcome.planned);
    now = outcome.next;
  }
  const last = planned.pop();
  if (last === undefined) throw new Error("A push without a step");
  const isNothing = [...planned, last].every(({ migration }) => migration === null);
  return {
    status: isNothing ? "unchanged" : "planned",
    ...last,
    earlier: planned.map((step) => ({ ...step, migration: toRecord(step.migration) })),
    deferred: Promise.resolve(),
  };
}

type Planning = Pick<PushRequest, "app" | "options"> & { step: PushStep; isLater: boolean };

async function planStep(
  deps: PushDeps,
  { step, ...context }: Planning,
  now: Situation,
): Promise<Outcome> {
  if (step.kind !== "change") {
    const { work = workInPlace } = deps;
    const prepared = await prepare(work, { state: now.state, step, ...context });
    const sizes = await measure(deps, prepared, now, context);
    const { definition } = step.kind === "migration" ? step.migration : step;
    return conclude({ ...prepared, definition, change: findChange(step), sizes }, now, context);
  }
  const { change } = step;
  const found = await planChangeStep(deps, { ...context, change }, now);
  if (!("step" in found))
    return { planned: { migration: null, ...NO_CHANGE, notes: found.notes }, next: now };
  const { definition } = found.step;
  const sizes = await measure(deps, found.prepared, now, context);
  const { planned, next } = conclude(
    { ...found.prepared, definition, change, sizes },
    now,
    context,
  );
  const notes = [found.note, ...planned.notes];
  return { planned: { ...planned, rows: found.rows, notes }, next };
}

/** The functions of the app after a step. @throws {Problem} invalid_schema — the app grows beyond a limit */
async function measure(
  deps: PushDeps,
  { plan }: PreparedPush,
  { state, sizes: known }: Situation,
  { app }: Pick<PushRequest, "app">,
): Promise<FunctionSizes | undefined> {
  const { sizes } = await renderFunctionSteps(deps, { appId: app.id, plan, state }, known);
  return sizes;
}

type Concluded = PreparedPush & {
  definition: Definition;
  change: Change | undefined;
  sizes: FunctionSizes | undefined;
};

function conclude(
  { plan, migration, joins, definition, change, sizes }: Concluded,
  now: Situation,
  { app }: Pick<PushRequest, "app">,
): Outcome {
  const summary = summarizePlan(plan);
  if (migration === null) return { planned: { migration, ...summary, rows: null }, next: now };
  const notes = [
    ...describeDeleted(app, plan),
    ...describeWidened(app, findWidened(plan)),
    ...summary.notes,
  ];
  const { checksum } = migration;
  const state = record(advanceState(now.state, app, plan), migration, joins);
  const head = { checksum, definition, ...(change === undefined ? {} : { change }) };
  return { planned: { migration, ...summary, notes, rows: null }, next: { state, head, sizes } };
}

function record(
  state: PushState,
  { seq, name, parent, checksum, text, sql }: Applied,
  joins: PreparedPush["joins"] = [],
): PushState {
  const added = joins.length > 0 ? joins : [{ seq, name, parent, checksum }];
  const replaced = added[0]?.seq ?? seq;
  return {
    ...state,
    migrations: [...state.migrations.filter((applied) => applied.seq < replaced), ...added],
    head: { seq: (state.head?.seq ?? 0) + 1, checksum },
    journalBytes: state.journalBytes + Buffer.byteLength(text) + Buffer.byteLength(sql),
  };
}

function toRecord(migration: Applied | null): MigrationRecord | null {
  if (migration === null) return null;
  const { seq, name, parent, checksum } = migration;
  return { seq, name, parent, checksum };
}
