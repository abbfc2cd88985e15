/**
 * Applies a step of a push: reads the state, checks the journal, plans, renders one message, runs it. Never waits long: if
 * others hold its locks, the push is busy, and the caller retries.
 *
 * @module
 */
import { type Database, ViolationError } from "../db/mod.ts";
import type { Log } from "../observe.ts";
import { Problem } from "../problem.ts";
import { REASONS } from "./conflicts.ts";
import { checkJournal, type JournalEntry } from "./history/journal.ts";
import type { Applied } from "./history/migration_text.ts";
import { checkGrowth, countAdded, removeDropped } from "./plan/function_quota.ts";
import { rejectChange } from "./plan/plan_change.ts";
import type { PreparedPush, PrepareOptions } from "./plan/prepare.ts";
import { busy, type MessageResult, readMessageResult } from "./plan/rejections.ts";
import { type Copied, findDeleted, MESSAGE_TIMEOUT_MS } from "./plan/retype_messages.ts";
import { findWidened, type Plan, type Step } from "./plan/step.ts";
import { checkDropKey, checkRulesKey, type PushingApp } from "./push_key.ts";
import { findChange, listTables, type ReadyStep } from "./push_step.ts";
import type { RenderedSteps } from "./sql/ddl.ts";
import { resumeDeferredSteps } from "./sql/deferred.ts";
import { type FunctionSizes, findFunctionSteps, splitSets } from "./sql/function_steps.ts";
import { renderMessage } from "./sql/message.ts";
import { type PlanSummary, summarizePlan } from "./sql/migration.ts";
import { cancelRetype, copyColumn } from "./sql/retype.ts";
import { type PushState, readFunctionSizes, readState } from "./state.ts";
import { acquireTurn } from "./turns.ts";
import { type Work, workInPlace } from "./work.ts";

/** `log` receives errors after the push was reported as done. */
export type PushDeps = {
  admin: Database;
  log: Log;
  /** Where the pushes of a service work; default: in place. */
  work?: Work;
};
export type ApplyRequest = {
  app: PushingApp;
  /** The migrations in the caller's folder; absent if there is no folder. */
  journal?: readonly JournalEntry[] | undefined;
  options: PrepareOptions & {
    /** Tables with at least this many pages defer builds. Tables in tests are small. */
    largeTablePages?: number;
  };
};
type Applying = ApplyRequest & {
  step: ReadyStep;
  /** The checksum of the migration that the step follows, if any. */
  after?: string | undefined;
};
export type AppliedStep = PlanSummary & {
  status: "applied" | "unchanged";
  migration: Applied | null;
  /** Settles when this process has no deferred step left to work on. Never rejects. */
  deferred: Promise<void>;
};

/** Max replans because another push came first. Each replan means that another push succeeded. */
const MAX_PLANS = 5;
/** Max retries of locking tables in use before the push is busy. */
const MAX_TRIES = 3;
const TRY_AGAIN_MS = 150;

/**
 * Applies a step in one transaction.
 *
 * @throws {Problem} incompatible_schema — with every conflict; edited_migration, diverged_history — the journal differs from
 * the record; push_busy — another push is running, or the tables are in use; journal_full
 */
export async function applyStep(deps: PushDeps, request: Applying): Promise<AppliedStep> {
  const { app, step } = request;
  const change = findChange(step);
  let tries = 0;
  let isRetyping = false;
  for (let plans = 0; plans < MAX_PLANS; plans++) {
    const prepared = await readAndPrepare(deps, request);
    const { plan, state, migration } = prepared;
    const summary = summarizePlan(plan);
    const resume = (isNeeded: boolean) =>
      isNeeded ? resumeDeferredSteps(deps) : Promise.resolve();
    if (migration === null) {
      const deferred = resume(state.hasDeferredSteps);
      return { status: "unchanged", migration, ...summary, deferred };
    }
    await checkDropKey(deps, app, findDeleted(plan));
    await checkRulesKey(deps, app, findWidened(plan));
    // A change waits for the builds of its table, and their process can have been killed.
    if (change !== undefined) void resume(state.hasDeferredSteps);
    const retyped = findRetyped(plan, state);
    let copied: Copied | undefined;
    if (retyped !== undefined && change !== undefined) {
      // A repeated retype would undo the other request's cancel.
      if (isRetyping && retyped.table.retype === null)
        throw rejectChange(change, REASONS.retypeCanceled);
      isRetyping = true;
      const copy = await copyColumn(deps.admin, { ...retyped, change });
      if (copy === "moved") continue;
      copied = copy;
    }
    const isReplay = step.kind === "migration";
    const { functions } = await renderFunctionSteps(deps, { appId: app.id, plan, state });
    await acquireTurn(app.id);
    const text = renderMessage(app, { ...prepared, migration, isReplay, copied, functions });
    // The driver copies the text.
    await acquireTurn(app.id);
    const result = await runMessage(deps.admin, { text, queue: app.id, plan }).catch(
      async (error: unknown) => {
        // If rows violate a rule of the swap, the retype ends, and other changes of the table are possible again.
        const isViolation = error instanceof Problem && error.cause instanceof ViolationError;
        if (isViolation && retyped !== undefined) await cancelRetype(deps.admin, retyped.table);
        throw error;
      },
    );
    if (result === "applied") {
      deps.admin.countChanges(countSets(plan));
      const isLeft = plan.steps.some((step) => step.kind.startsWith("defer_"));
      return {
        status: "applied",
        migration,
        ...summary,
        deferred: resume(isLeft || state.hasDeferredSteps),
      };
    }
    if (result === "held") throw busy();
    if (result === "locked") {
      tries++;
      if (tries === MAX_TRIES) throw busy();
      await Bun.sleep(TRY_AGAIN_MS * (0.5 + Math.random()));
    }
  }
  throw busy();
}

/** How many sets of functions the plan creates: the session that created them keeps each, compiled, until it ends. */
function countSets({ steps }: Plan): number {
  return steps.reduce((sum, step) => {
    if (step.kind === "create_functions") return sum + 1;
    return step.kind === "create_views" ? sum + step.sets.length : sum;
  }, 0);
}

/** The swap of a retyped column, which needs a filled copy of the column, and the table. */
function findRetyped(plan: Plan, state: PushState) {
  const swap = plan.steps.find((step) => step.kind === "swap_column");
  const table = state.tables.find(({ name }) => name === swap?.table);
  return swap && table && { swap, table };
}

async function readAndPrepare(
  { admin, work = workInPlace }: PushDeps,
  { app, journal, step, after, options }: Applying,
) {
  const state = await readState(admin, app.id, listTables(step), options.largeTablePages);
  if (after !== undefined && state.migrations.at(-1)?.checksum !== after) throw busy();
  if (journal !== undefined) checkJournal(journal, state.migrations);
  await acquireTurn(app.id);
  return { ...(await prepare(work, { state, step, app, options })), state };
}

/** The statements and the record of a step. @throws {Problem} as `prepareStep` */
export function prepare(
  work: Work,
  {
    app: { id, slug },
    ...input
  }: Pick<Applying, "app" | "options" | "step"> & { state: PushState },
): Promise<PreparedPush> {
  return work(id, "prepare", { ...input, app: { id, slug } });
}

type Rendering = { appId: string; plan: Plan; state: PushState };

/**
 * The functions of a plan, and the sizes of all functions of the app after it. Plans are rendered too: a dry run then rejects what
 * the push would reject.
 *
 * @throws {Problem} invalid_schema — the app grows beyond a limit
 */
export async function renderFunctionSteps(
  { admin, work = workInPlace }: PushDeps,
  { appId, plan, state }: Rendering,
  known?: FunctionSizes,
): Promise<{ functions: RenderedSteps; sizes: FunctionSizes | undefined }> {
  const functions = new Map<Step, readonly string[]>();
  const steps = findFunctionSteps(plan);
  if (steps.length === 0 && known === undefined) return { functions, sizes: undefined };
  const before = known ?? (await readFunctionSizes(admin, appId));
  const left = removeDropped(before, { appId, plan, state });
  const counted = { ...left, ...countAdded({ plan, state }) };
  checkGrowth(before, counted);
  const { dialect } = state;
  let sizes = counted;
  for (const step of steps) {
    const statements: string[] = [];
    for (const part of splitSets(step)) {
      const rendered = await work(appId, "render", {
        ...{ step: part, site: { dialect } },
      });
      // Joined in pieces: the whole is many megabytes.
      statements.push(rendered.statements.join(";\n"));
      sizes = { ...sizes, ...rendered.added };
      checkGrowth(before, sizes);
    }
    functions.set(step, statements);
  }
  return { functions, sizes };
}

async function runMessage(
  admin: Database,
  { text, queue, plan }: { text: string; queue: string; plan: Plan },
): Promise<MessageResult> {
  try {
    await admin.message(text, { timeoutMs: MESSAGE_TIMEOUT_MS, queue });
    return "applied";
  } catch (error) {
    return readMessageResult(error, plan.steps);
  }
}
