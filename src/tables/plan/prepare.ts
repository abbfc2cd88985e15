/** The statements and the record of a push, given a state. Pure. @module */

import { Problem } from "../../problem.ts";
import type { Definition } from "../../schema/mod.ts";
import { REASONS } from "../conflicts.ts";
import { MAX_MIGRATIONS } from "../history/journal.ts";
import {
  type Applied,
  MAX_MIGRATION_BYTES,
  type MigrationText,
} from "../history/migration_text.ts";
import { type CheckedMigration, checkChain, isApplied } from "../history/replayed_migration.ts";
import type { PushingApp } from "../push_key.ts";
import { type RenderedPlan, renderPlan } from "../sql/ddl.ts";
import { adoptMigration, makeMigration } from "../sql/migration.ts";
import type { PushState } from "../state.ts";
import { advanceState } from "./advanced_state.ts";
import { type Change, showDropped } from "./change.ts";
import { type PlanOptions, planPush } from "./plan.ts";
import { planChange, rejectChange } from "./plan_change.ts";
import { addViews } from "./plan_views.ts";
import { incompatible } from "./rejections.ts";
import type { Plan } from "./step.ts";

export type PrepareOptions = Pick<PlanOptions, "share" | "rejectsRules"> & {
  /** Max bytes of the app's migrations together; absent if an operator pushes. */
  journalBytes?: number;
};
export type PrepareRequest = {
  app: PushingApp;
  definition: Definition;
  /** The project's migration with this definition; absent if the project has no migration of the change yet. */
  migration?: CheckedMigration & {
    /** Whether a later definition of the project determines the use of other apps' tables. */
    isFollowed: boolean;
  };
  /** The explicit change; absent if the plan follows from the definition. */
  change?: Change | undefined;
  options: PrepareOptions;
};

export const NOTHING: RenderedPlan = renderPlan({ steps: [], conflicts: [], notes: [] });

export type PreparedPush = RenderedPlan & {
  migration: Applied | null;
  /** The project's migrations that the push joins, if histories have diverged. */
  joins?: MigrationText[];
};

/**
 * The plan with its statements and its migration; without a migration if nothing changes.
 *
 * @throws {Problem} incompatible_schema — with every conflict; edited_migration, diverged_history — the migration is not
 * the next one; journal_full
 */
export function preparePush(state: PushState, request: PrepareRequest): PreparedPush {
  const { definition, migration: replayed, change, options } = request;
  if (replayed !== undefined && isApplied(replayed, state.migrations))
    return { ...NOTHING, migration: null };
  const plan = addViews(planRequest(state, request), { app: request.app, state, change });
  if (plan.conflicts.length > 0) throw incompatible(plan.conflicts);
  const rendered = renderPlan(plan);
  const previous = state.migrations.at(-1);
  if (replayed === undefined && plan.steps.length === 0) return { ...rendered, migration: null };
  const migration =
    replayed === undefined
      ? makeMigration(rendered, { definition, change, previous })
      : adoptMigration(rendered, { replayed, previous });
  if (replayed?.joins === undefined) {
    checkSize(migration, { ...options, state });
    return { ...rendered, migration };
  }
  const joins = checkChain(replayed.joins, state.migrations);
  checkSize(migration, { ...options, joins, state });
  return { ...rendered, migration, joins };
}

/** If another app owns the table of a replayed change, the definition determines its use. */
function planRequest(
  state: PushState,
  {
    app,
    definition,
    change,
    migration: replayed,
    options: { share, rejectsRules },
  }: PrepareRequest,
): Plan {
  const replay = replayed && (replayed.isFollowed ? "followed" : "last");
  const options: PlanOptions = { replay, share, rejectsRules };
  if (change === undefined) return planPush(app.id, definition, state, options);
  const plan = planChange(app.id, change, state, { isReplay: replayed !== undefined });
  if (replayed === undefined) return plan;
  const dropped = showDropped(change);
  if (dropped !== undefined && declares(definition, change))
    throw rejectChange(change, REASONS.isDeclared(dropped));
  const rest = planPush(app.id, definition, advanceState(state, app, plan), options);
  return {
    steps: [...plan.steps, ...rest.steps],
    conflicts: rest.conflicts,
    notes: [...plan.notes, ...rest.notes],
  };
}

function declares({ tables }: Definition, change: Change): boolean {
  const table = tables.find(({ name }) => name === change.table);
  if (change.kind !== "drop_column") return table !== undefined;
  return table?.columns.some(({ name }) => name === change.column) === true;
}

type SizeLimits = { journalBytes?: number; joins?: readonly MigrationText[]; state: PushState };

/** The journal cannot grow between this check and the message, which fails if the app's migrations have changed. */
export function checkSize(
  { seq, text, sql }: Applied,
  { journalBytes = Infinity, joins, state }: SizeLimits,
): void {
  // The project's number and the service's number differ after a join.
  if (Math.max(seq, (state.head?.seq ?? 0) + 1) > MAX_MIGRATIONS)
    throw new Problem("journal_full", {
      message: `Cannot push: this app has ${MAX_MIGRATIONS} migrations, the max`,
    });
  const size = Buffer.byteLength(text);
  // An app's key could not apply a larger migration at another service.
  if (journalBytes !== Infinity && size > MAX_MIGRATION_BYTES)
    throw new Problem("journal_full", {
      message: `Cannot push: this migration would have ${size} bytes; the max is ${MAX_MIGRATION_BYTES}; push some of the tables first; nothing was written`,
    });
  const joined = joins === undefined ? 0 : Buffer.byteLength(JSON.stringify(joins));
  const bytes = state.journalBytes + size + Buffer.byteLength(sql) + joined;
  if (bytes <= journalBytes) return;
  throw new Problem("journal_full", {
    message: `Cannot push: with this migration the journal of the app would have ${bytes} bytes; the max is ${journalBytes}; nothing was written`,
  });
}
