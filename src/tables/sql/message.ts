/**
 * A push as one message, which is one transaction: first the locks between pushes and the check that the state is unchanged
 * since the plan; then the steps, with locks on existing tables before the first step that needs them; then the record. Pure.
 *
 * @module
 */

import { DIALECT_SQL, dialectOf, LOCK_BUDGET_MS, quoteLiteral, SIGNALS } from "../../db/mod.ts";
import type { Json } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { hashColumnSet, isOneServer, nameOf, toColumnSet, type ViewSet } from "../catalog/mod.ts";
import { type Applied, NO_PARENT } from "../history/migration_text.ts";
import type { PreparedPush } from "../plan/prepare.ts";
import { type Copied, MESSAGE_SETTINGS, renderCopied } from "../plan/retype_messages.ts";
import { findCreated, type Plan, type Step } from "../plan/step.ts";
import type { PushingApp } from "../push_key.ts";
import type { PushState } from "../state.ts";
import { type RenderedSteps, renderStatements, toDeferred } from "./ddl.ts";
import { digestRelease } from "./release.ts";

type Prepared = PreparedPush & {
  migration: Applied;
  state: PushState;
  /** Whether the project already has this migration. */
  isReplay?: boolean;
  /** For the swap of a retyped column. */
  copied?: Copied | undefined;
  functions?: RenderedSteps;
};

export function renderMessage(pusher: Pusher, prepared: Prepared): string {
  const { plan, copied, functions } = prepared;
  const { early, deferred } = renderStatements(plan, prepared.state, functions);
  return [
    renderLockPush(pusher.id, prepared),
    ...MESSAGE_SETTINGS,
    ...early,
    ...renderLockTables(plan, prepared.state),
    // No build of the table of an explicit change may be running.
    ...renderBeginChanges(pusher, plan),
    ...(copied === undefined ? [] : [renderCopied(copied)]),
    ...deferred,
    ...plan.steps.flatMap((step) =>
      step.kind === "drop_functions" ? [renderForgetSets(step)] : [],
    ),
    ...renderRecord(pusher, prepared),
  ].join(";\n");
}

type Pusher = Pick<PushingApp, "id" | "by">;

/** An app id without an app: only a table is locked. */
const NO_APP = "00000000-0000-0000-0000-000000000000";

/** The first statement of a message that changes one table and no app's record; `stamp`: the version in the plan. */
export function renderLockTable(name: string, stamp: number): string {
  const seen = quoteLiteral(JSON.stringify({ [name]: stamp }));
  return `do $rowhouse$ begin perform rowhouse.lock_push(array[${quoteLiteral(`table ${name}`)}], ${seen}, '${NO_APP}', 0); end $rowhouse$`;
}

/** Locks the app, every table of a step, and every table that these reference. */
function renderLockPush(appId: string, { plan, state }: Prepared): string {
  const tables = [...new Set(plan.steps.flatMap(toTables))].sort();
  const stamps = new Map(state.tables.map((table) => [table.name, table.stamp]));
  const seen = Object.fromEntries(tables.map((name) => [name, stamps.get(name) ?? 0]));
  const head = state.head?.seq ?? 0;
  const names = [`app ${appId}`, ...tables.map((name) => `table ${name}`)].map(quoteLiteral);
  const body = `begin perform rowhouse.hold_release(${quoteLiteral(digestRelease())}); perform rowhouse.lock_push(array[${names.join(", ")}], ${quoteLiteral(JSON.stringify(seen))}, ${quoteLiteral(appId)}, ${head});${rejectOtherDialect(state)} end`;
  return `do $rowhouse$ ${body} $rowhouse$`;
}

/** The dialect can change between the plan and the lock; tables then need other statements. */
function rejectOtherDialect(state: PushState): string {
  if (!dialectOf(state).canChange) return "";
  return ` if ${DIALECT_SQL} <> ${quoteLiteral(state.dialect)} then raise exception 'the dialect has changed' using errcode = '${SIGNALS.catalogMoved}'; end if;`;
}

function toTables(step: Step): string[] {
  if (step.kind === "rename") return [step.before.name, step.table.name];
  if (typeof step.table === "string") return [step.table];
  return [step.table.name, ...step.table.columns.flatMap((column) => column.table ?? [])];
}

const LOCKING: ReadonlySet<Step["kind"]> = new Set([
  "add_column",
  "set_default",
  "set_required",
  "add_key",
  "add_index",
  "add_reference",
  "rename",
  "drop_column",
  "drop_table",
  "drop_enum_value",
  "swap_column",
]);

/**
 * Locks all existing tables before the first change to one of them, so that each request waits at most once. Tables
 * that are only referenced, or get listeners, can still be read.
 */
function renderLockTables({ steps }: Plan, { unheard }: PushState): string[] {
  const created = findCreated(steps);
  const locking = steps.filter((step) => LOCKING.has(step.kind));
  const changed = new Set(locking.flatMap(toChanged));
  const referenced = locking.flatMap((step) =>
    step.kind === "add_reference" ? (step.column.table ?? []) : [],
  );
  // `record_push` gives them listeners.
  const used = new Set(steps.flatMap((step) => (step.kind === "register" ? step.table.name : [])));
  const heard = unheard.filter((name) => used.has(name));
  const names = [...new Set([...changed, ...referenced, ...heard])]
    .filter((name) => !created.has(name))
    .sort();
  if (names.length === 0) return [];
  const readable = names.filter((name) => !changed.has(name));
  const lists = [names, readable].map(
    (list) => `array[${list.map(quoteLiteral).join(", ")}]::text[]`,
  );
  return [
    `do $rowhouse$ begin perform rowhouse.lock_tables(${lists.join(", ")}, ${LOCK_BUDGET_MS}); end $rowhouse$`,
  ];
}

/** The tables that a step alters. Immediate validation also lifts the row security of the target. */
function toChanged(step: Step): string[] {
  if (step.kind === "rename") return [step.before.name];
  if (step.kind === "drop_column")
    return [step.table, ...(step.column.table === undefined ? [] : [step.column.table])];
  if (step.kind === "drop_table") return toTables(step);
  const name = typeof step.table === "string" ? step.table : step.table.name;
  if (step.kind !== "add_reference" || step.validate !== "now") return [name];
  return [name, ...(step.column.table === undefined ? [] : [step.column.table])];
}

/** The record of the push: its last statements, and the only statements that write to the record. */
function renderRecord(
  { id, by }: Pusher,
  { plan, migration, joins, state, isReplay = false }: Prepared,
): string[] {
  // The number at this service: after a join the project's number can differ.
  const { head } = state;
  const position = { seq: (head?.seq ?? 0) + 1, parent: head?.checksum ?? NO_PARENT };
  const parts = [
    {
      ...migration,
      ...position,
      ...(joins === undefined ? {} : { joins }),
      isReplay,
      keyId: by?.keyId ?? null,
      widened: plan.steps.flatMap((step) =>
        step.kind === "widen_rules"
          ? [{ table: step.table, before: step.before, after: step.after }]
          : [],
      ),
    },
    plan.steps.flatMap((step) => (step.kind === "record_table" ? [step.table] : [])),
    plan.steps.flatMap(toUse),
    plan.steps.flatMap(toBuild),
  ].map((part) => `${quoteLiteral(canonicalJson(part))}::jsonb`);
  return [
    `select rowhouse.record_push(${quoteLiteral(id)}, ${parts.join(", ")}) as version`,
    ...renderViews(id, plan),
    ...(isOneServer(state) ? renderHistoryEdits(id, plan) : []),
    ...toChangedTables(plan).map(
      (table) => `select rowhouse.record_change(${renderPair(id, table)})`,
    ),
  ];
}

/** What the steps rename or drop, for the history of rows; `null` is the whole table, or no new name. */
function renderHistoryEdits(id: string, { steps }: Plan): string[] {
  return steps.flatMap(toHistoryEdit).map((edit) => {
    const parts = edit.map((part) => (part === null ? "null" : quoteLiteral(part)));
    return `select rowhouse.edit_history(${[quoteLiteral(id), ...parts].join(", ")})`;
  });
}

type HistoryEdit = [table: string, column: string | null, renamed: string | null];

function toHistoryEdit(step: Step): HistoryEdit[] {
  if (step.kind === "drop_column") return [[step.table, step.column.name, null]];
  if (step.kind === "drop_table") return [[step.table.name, null, null]];
  if (step.kind !== "rename") return [];
  const { table, before, column } = step;
  if (column === undefined) return [[before.name, null, table.name]];
  return [[table.name, column.from, column.to]];
}

/** The record of the views whose functions the message creates and drops. */
function renderViews(id: string, { steps }: Plan): string[] {
  const created = steps.flatMap((step) =>
    step.kind === "create_views" ? step.sets.map((set) => toRecordedView(step.table, set)) : [],
  );
  const dropped = steps.flatMap((step) =>
    step.kind === "drop_views" ? step.hashes.map((hash) => ({ table: step.table, hash })) : [],
  );
  if (created.length + dropped.length === 0) return [];
  const parts = [created, dropped].map((part) => `${quoteLiteral(canonicalJson(part))}::jsonb`);
  return [`select rowhouse.record_views(${quoteLiteral(id)}, ${parts.join(", ")})`];
}

export function toRecordedView(table: string, definition: ViewSet) {
  return { table, hash: hashColumnSet(definition), definition };
}

function renderBeginChanges({ id }: Pusher, plan: Plan): string[] {
  return toChangedTables(plan).map((table) => {
    const isRetyped = plan.steps.some(
      (step) => step.kind === "swap_column" && step.table === table,
    );
    return `select rowhouse.begin_change(${renderPair(id, table)}, ${isRetyped})`;
  });
}

function toChangedTables({ steps }: Plan): string[] {
  return steps.flatMap((step) => (step.kind === "record_change" ? [step.table] : []));
}

function renderPair(id: string, table: string): string {
  return `${quoteLiteral(id)}, ${quoteLiteral(table)}`;
}

/** The app's new column set of a table, as recorded. */
function toUse(step: Step): Json[] {
  if (step.kind !== "register") return [];
  const { table } = step;
  return [{ definition: table, hash: hashColumnSet(table), columns: toColumnSet(table) }];
}

/** The statement that removes the records of column sets whose functions the same message drops. */
export function renderForgetSets({
  table,
  removed,
}: Extract<Step, { kind: "drop_functions" }>): string {
  const parts = [table, JSON.stringify(removed)].map(quoteLiteral).join(", ");
  return `do $rowhouse$ begin perform rowhouse.forget_sets(${parts}); end $rowhouse$`;
}

function toBuild(step: Step): Json[] {
  return toDeferred(step).map(({ table, index }) => ({
    ...{ table, kind: index.kind === "fkey" ? "reference" : "index" },
    ...{ name: nameOf(index), columns: index.columns },
  }));
}
