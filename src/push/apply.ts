/**
 * The steps of a push: read the state, check the journal, plan, render one message, run it. Never waits long: if others
 * hold its locks, the push is busy, and the caller retries.
 *
 * @module
 */
import { type Database, ViolationError } from "../db/mod.ts";
import type { Definition } from "../dsl/mod.ts";
import type { Log } from "../observe.ts";
import { Problem } from "../problem.ts";
import { acquireTurn } from "./acquire_turn.ts";
import { checkDropKey } from "./begin_push.ts";
import { toTableNames } from "./change.ts";
import { REASONS } from "./conflicts.ts";
import { resumeDeferredSteps } from "./deferred.ts";
import { describeDeleted, findDeleted } from "./deleted_values.ts";
import { type Join, prepareJoin } from "./join.ts";
import { checkJournal, type JournalEntry } from "./journal.ts";
import { renderMessage } from "./message.ts";
import { MESSAGE_TIMEOUT_MS } from "./message_settings.ts";
import { type PlanSummary, summarizePlan } from "./migration.ts";
import type { Migration } from "./migration_text.ts";
import { rejectChange } from "./plan_change.ts";
import { type PrepareRequest, preparePush } from "./prepare.ts";
import { busy, type MessageResult, nodeUnreachable, readMessageResult } from "./rejections.ts";
import { cancelRetype, copyColumn } from "./retype.ts";
import { type PushState, readState } from "./state.ts";
import type { Plan } from "./step.ts";

/** `log` receives errors after the push was reported as done. */
export type PushDeps = { admin: Database; log: Log };
export type PushRequest = PrepareRequest & {
  /** The migrations in the caller's folder; absent if there is no folder. */
  journal?: readonly JournalEntry[] | undefined;
  /** The project's migrations to join, if histories have diverged. */
  join?: Join;
  /** The checksum of the migration that the request follows, if any. */
  after?: string;
  options: {
    dryRun: boolean;
    /** Tables with at least this many pages defer builds. Tables in tests are small. */
    largeTablePages?: number;
  };
};
export type PushResult = PlanSummary & {
  status: "applied" | "unchanged" | "planned";
  migration: Migration | null;
  /** Settles when this process has no deferred step left to work on. Never rejects. */
  deferred: Promise<void>;
};

/** Max replans because another push came first. Each replan means that another push succeeded. */
const MAX_PLANS = 5;
/** Max retries of locking tables in use before the push is busy. */
const MAX_TRIES = 3;
const TRY_AGAIN_MS = 150;

/**
 * Makes the database match an app's definition, or returns the plan. Every node participates. If a node hangs, the push fails
 * early, so that other nodes do not wait for it.
 *
 * @throws {Problem} incompatible_schema — with every conflict; edited_migration, diverged_history — the journal differs from
 * the record; push_busy — another push is running, or the tables are in use; journal_full; unavailable
 */
export async function push(deps: PushDeps, request: PushRequest): Promise<PushResult> {
  rejectSilence(deps.admin, undefined);
  try {
    return await planAndApply(deps, request);
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

async function planAndApply(deps: PushDeps, request: PushRequest): Promise<PushResult> {
  const { dryRun } = request.options;
  let tries = 0;
  let isRetyping = false;
  for (let plans = 0; plans < MAX_PLANS; plans++) {
    const prepared = await readAndPrepare(deps, request);
    const { plan, state, migration } = prepared;
    const summary = summarizePlan(plan);
    const resume = (isNeeded: boolean) =>
      isNeeded && !dryRun ? resumeDeferredSteps(deps) : Promise.resolve();
    if (migration === null) {
      const deferred = resume(state.hasDeferredSteps);
      return { status: "unchanged", migration, ...summary, deferred };
    }
    if (dryRun) {
      const notes = [...describeDeleted(request.app, plan), ...summary.notes];
      return { status: "planned", migration, ...summary, notes, deferred: resume(false) };
    }
    await checkDropKey(deps, request.app, findDeleted(plan));
    // A change waits for the builds of its table, and their process can have been killed.
    if (request.change !== undefined) void resume(state.hasDeferredSteps);
    const retyped = findRetyped(plan, state);
    if (retyped !== undefined && request.change !== undefined) {
      const { change } = request;
      // A repeated retype would undo the other request's cancel.
      if (isRetyping && retyped.table.retype === null)
        throw rejectChange(change, REASONS.retypeCanceled);
      isRetyping = true;
      if ((await copyColumn(deps.admin, { ...retyped, change })) === "moved") continue;
    }
    const isReplay = request.migration !== undefined;
    await acquireTurn(request.app.id);
    const text = renderMessage(request.app, { ...prepared, migration, isReplay });
    const result = await runMessage(deps.admin, { text, queue: request.app.id, plan }).catch(
      async (error: unknown) => {
        // If rows violate a rule of the swap, the retype ends, and other changes of the table are possible again.
        const isViolation = error instanceof Problem && error.cause instanceof ViolationError;
        if (isViolation && retyped !== undefined) await cancelRetype(deps.admin, retyped.table);
        throw error;
      },
    );
    if (result === "applied") {
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

/** The swap of a retyped column, which needs a filled copy of the column, and the table. */
function findRetyped(plan: Plan, state: PushState) {
  const swap = plan.steps.find((step) => step.kind === "swap_column");
  const table = state.tables.find(({ name }) => name === swap?.table);
  return swap && table && { swap, table };
}

async function readAndPrepare(deps: PushDeps, request: PushRequest) {
  const { app, definition, change, join, options } = request;
  const declared = join === undefined ? [] : toNames(join.declared);
  const names = [...toNames(definition), ...toTableNames(change), ...declared];
  const state = await readState(deps.admin, app.id, names, options.largeTablePages);
  if (request.after !== undefined && state.migrations.at(-1)?.checksum !== request.after)
    throw busy();
  if (request.journal !== undefined) checkJournal(request.journal, state.migrations);
  await acquireTurn(app.id);
  const prepared =
    join === undefined ? preparePush(state, request) : prepareJoin(state, { ...request, join });
  return { ...prepared, state };
}

export function toNames(definition: Definition): string[] {
  return definition.tables.map((table) => table.name);
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
