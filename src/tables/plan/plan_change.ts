/**
 * The plan of an explicit change: only for the owner of the table, and only if no other app declares the changed part. Never
 * names the other app. Pure.
 *
 * @module
 */

import { dialectOf } from "../../db/mod.ts";
import { isReference, VALUES } from "../../kinds/mod.ts";
import { Problem } from "../../problem.ts";
import {
  findColumnNameIssue,
  findTableNameIssue,
  type NamedColumn,
  QUOTAS,
  sumDefaults,
  type TableDefinition,
  toDroppedValue,
} from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { type Cases, matchKind } from "../../std/match_kind.ts";
import {
  hashColumnSet,
  indexesOf,
  keysOf,
  listValueIndexes,
  type RecordedDefinition,
} from "../catalog/mod.ts";
import { REASONS, REJECTIONS } from "../conflicts.ts";
import { isShared, markDeferred, sumExcessDefaults } from "../sql/deferred.ts";
import type { PushState, TableState } from "../state.ts";
import { type Change, changeTable, retype } from "./change.ts";
import { changeRecorded } from "./change_record.ts";
import type { Plan, Step } from "./step.ts";

type ChangeOf<Kind extends Change["kind"]> = Extract<Change, { kind: Kind }>;

type Changed = {
  found: TableState;
  /** The resulting table; `undefined` if it is dropped. */
  next: RecordedDefinition | undefined;
  state: PushState;
};

const PLANNERS: Cases<Change, Step[], [table: Changed]> = {
  rename_column: ({ column, to }, { found, next }) =>
    next === undefined
      ? []
      : [{ kind: "rename", table: next, before: found.definition, column: { from: column, to } }],
  rename_table: (_, { found, next }) =>
    next === undefined ? [] : [{ kind: "rename", table: next, before: found.definition }],
  drop_column: (change, { found }) => [
    { kind: "drop_column", table: found.name, column: findColumn(found, change) },
  ],
  drop_table: (_, { found }) => [{ kind: "drop_table", table: found.definition }],
  retype_column: planRetype,
  drop_value: planDropValue,
};

function planDropValue(
  { table, column, value }: ChangeOf<"drop_value">,
  { found, state }: Changed,
): Step[] {
  return [
    {
      ...{ kind: "drop_enum_value", table, column, value },
      label: toDroppedValue((state.head?.seq ?? 0) + 1),
      indexes: listValueIndexes(found.definition, { column, value }),
    },
  ];
}

/** Indexes of the column are dropped with the column, and created again on its copy. */
function planRetype(change: ChangeOf<"retype_column">, { found, next }: Changed): Step[] {
  const before = findColumn(found, change);
  const column = retype(before, change.type);
  const table = found.name;
  if (next === undefined) return [];
  const isOver = ({ columns }: { columns: readonly string[] }) => columns.includes(column.name);
  const kind = found.isLarge || isShared(found) ? "defer_index" : "add_index";
  return [
    { kind: "swap_column", appId: found.ownerAppId, table, before, column },
    ...keysOf(next)
      .filter(isOver)
      .map((key): Step => ({ kind: "add_key", table, key })),
    ...indexesOf(next)
      .filter(isOver)
      .map((index): Step => ({ kind, table, index })),
  ];
}

type PlanChangeOptions = {
  /** Whether the project already has the migration: a table of another app then does not change. */
  isReplay: boolean;
};

/**
 * The steps of a change.
 *
 * @throws {Problem} incompatible_schema — why it is rejected
 */
export function planChange(
  appId: string,
  change: Change,
  state: PushState,
  { isReplay }: PlanChangeOptions,
): Plan {
  const found = state.tables.find(({ name }) => name === change.table);
  if (found?.ownerAppId !== appId) {
    if (isReplay) return { steps: [], conflicts: [], notes: [] };
    throw rejectChange(change, REASONS.noTable(change));
  }
  const { lacks } = dialectOf(state);
  if (lacks !== undefined) throw rejectChange(change, lacks.changes, "not_implemented");
  checkChange(found, change, state);
  const recorded = changeRecorded(found.definition, change);
  const isRetyped = change.kind === "retype_column" && recorded !== undefined;
  const next = isRetyped ? markDeferred(recorded, found) : recorded;
  const changed = { found, next, state };
  const steps = [...matchKind(PLANNERS, change, changed), ...planRecord(change, changed)];
  return { steps, conflicts: [], notes: describeLostDefault(found, change) };
}

function describeLostDefault(found: TableState, change: Change): string[] {
  if (change.kind !== "retype_column" || change.type.default !== undefined) return [];
  if (findColumn(found, change).default === undefined) return [];
  return [`DEFAULT: ${change.table}.${change.column} loses its default`];
}

/** The consequences of the change: the record, and the functions of the app's new column set. */
function planRecord(change: Change, { found, next, state }: Changed): Step[] {
  const { ownerAppId, sets, uses } = found;
  const before = uses.find(({ appId }) => appId === ownerAppId)?.definition;
  const used = before && changeTable(before, change);
  const isLeft = ({ appId, unusedS }: TableState["sets"][number]) =>
    appId !== ownerAppId && unusedS === null;
  const left = new Set(sets.filter(isLeft).map(({ hash }) => hash));
  if (used?.name === found.name) left.add(hashColumnSet(used));
  const hashes = [...new Set(sets.map(({ hash }) => hash))].filter((hash) => !left.has(hash));
  return [
    ...(used === undefined || next === undefined
      ? []
      : [{ kind: "create_functions", table: used, whole: next } as const]),
    { kind: "drop_functions", table: found.name, hashes, removed: [] },
    ...(next === undefined ? [] : [{ kind: "record_table", table: next } as const]),
    ...(used === undefined ? [] : [{ kind: "register", table: used } as const]),
    ...state.tables.flatMap((table) => planOther(table, change, found)),
    { kind: "record_change", table: found.name },
  ];
}

/** The tables with references to this table. All belong to the app, because no other app declares the table. */
function findReferring({ name, ownerAppId }: TableState, { tables }: PushState): TableState[] {
  return tables.filter(
    (table) =>
      table.ownerAppId === ownerAppId &&
      table.name !== name &&
      table.definition.columns.some((column) => column.table === name),
  );
}

/** PostgreSQL's references follow a renamed table; their records, and rules by memberships, contain its name. */
function planOther(
  { name, definition, ownerAppId, uses }: TableState,
  change: Change,
  found: TableState,
): Step[] {
  if (name === found.name) return [];
  // Another change with the name of a column would also change the deferred parts of this table.
  const isOwn = change.kind === "rename_table" && ownerAppId === found.ownerAppId;
  const next = isOwn ? changeRecorded(definition, change) : undefined;
  const before = uses.find(({ appId }) => appId === found.ownerAppId)?.definition;
  const used = before && changeTable(before, change);
  return [
    ...(next === undefined || isEqual(next, definition)
      ? []
      : [{ kind: "record_table", table: next } as const]),
    ...(used === undefined || isEqual(used, before)
      ? []
      : [{ kind: "register", table: used } as const]),
  ];
}

function isEqual(one: TableDefinition, other: TableDefinition | undefined): boolean {
  return canonicalJson(one) === canonicalJson(other ?? null);
}

/** Why a change of the app's own table is rejected; `undefined` if it is allowed. */
const CHECKS: Cases<Change, string | undefined, [found: TableState, state: PushState]> = {
  rename_column: (change, found) =>
    findMissing(found, change) ??
    findColumnNameIssue(change.to) ??
    findUsed(found, change) ??
    findForeignUse(found, change),
  rename_table: ({ to }, found, { tables }) =>
    findTableNameIssue(to) ??
    (tables.some(({ name }) => name === to) ? REASONS.nameUsed(to) : undefined) ??
    findForeignTable(found),
  drop_column: (change, found) => findMissing(found, change) ?? findForeignUse(found, change),
  drop_table: (_, found, state) => findForeignTable(found) ?? findReference(found, state),
  retype_column: (change, found) =>
    findMissing(found, change) ??
    findUnfit(found, change) ??
    findForeignUse(found, change) ??
    findDeferredUnfit(found, change),
  drop_value: (change, found) =>
    findMissing(found, change) ?? findValueIssue(found, change) ?? findForeignUse(found, change),
};

function checkChange(found: TableState, change: Change, state: PushState): void {
  const reason = findRetype(found, change) ?? matchKind(CHECKS, change, found, state);
  if (reason !== undefined) throw rejectChange(change, reason);
}

/** A column with an unfinished retype has a copy, which only the end of the retype removes. */
function findRetype({ name, retype: begun }: TableState, change: Change) {
  if (begun === null || canonicalJson(begun) === canonicalJson(change)) return undefined;
  return REASONS.retypeBegun(name, begun);
}

/** Columns that cannot be copied. */
function findUnfit(found: TableState, change: ChangeOf<"retype_column">) {
  const { column, type } = change;
  const before = findColumn(found, change);
  if (before.kind === type.kind) return REASONS.sameType(change, type.kind);
  if (isReference(before)) return REASONS.isReference(change);
  const next = changeTable(found.definition, change);
  const isOver = ({ columns }: { columns: readonly string[] }) => columns.includes(column);
  const isKey = keysOf(found.definition).some(isOver);
  if (
    VALUES[type.kind].unindexed !== undefined &&
    (isKey || indexesOf(found.definition).some(isOver))
  )
    return REASONS.unindexed(change, type.kind);
  if (isKey && (found.isLarge || isShared(found))) return REASONS.inUnique(change);
  const bytes = sumDefaults(next?.columns ?? []);
  return bytes > QUOTAS.tableDefaultBytes ? REASONS.defaultBytes(change, bytes) : undefined;
}

/** Other apps' rows get the default, and their creates omit the column. */
function findDeferredUnfit(found: TableState, change: ChangeOf<"retype_column">) {
  if (!isShared(found)) return undefined;
  const { required } = findColumn(found, change);
  if (required && change.type.default === undefined) return REASONS.requiredByOthers(change);
  const next = changeRecorded(found.definition, change);
  const bytes = next && sumExcessDefaults(markDeferred(next, found), found);
  return bytes === undefined ? undefined : REASONS.deferredDefaults(bytes);
}

type ColumnChange = Extract<Change, { column: unknown }>;

function findMissing({ definition }: TableState, change: ColumnChange) {
  const isThere = definition.columns.some(({ name }) => name === change.column);
  return isThere ? undefined : REASONS.noColumn(change);
}

function findColumn({ definition }: TableState, { column: name }: ColumnChange): NamedColumn {
  const column = definition.columns.find((other) => other.name === name);
  if (column === undefined) throw new Error(`Column ${name} was not checked`);
  return column;
}

/** People confuse names that differ only in case, and indexes are named after their columns. */
function findUsed({ definition }: TableState, change: ChangeOf<"rename_column">) {
  const { column, to } = change;
  if (to === column) return REASONS.sameName(change);
  const existing = definition.columns.find(
    ({ name }) => name !== column && name.toLowerCase() === to.toLowerCase(),
  );
  if (existing !== undefined) return REASONS.columnExists(change, existing.name);
  const next = changeTable(definition, change);
  if (next === undefined || countIndexes(next) === countIndexes(definition)) return undefined;
  return REASONS.indexName(change);
}

function countIndexes(table: TableDefinition): number {
  return keysOf(table).length + indexesOf(table).length;
}

function findForeignTable(found: TableState) {
  return isShared(found) ? REASONS.tableUsed(found.name) : undefined;
}

function findReference(found: TableState, state: PushState) {
  const [table] = findReferring(found, state);
  const column = table?.definition.columns.find((other) => other.table === found.name);
  if (table === undefined || column === undefined) return undefined;
  return REASONS.referred(`${table.name}.${column.name}`);
}

function findValueIssue(found: TableState, change: ChangeOf<"drop_value">) {
  const { values, default: initial } = findColumn(found, change);
  const { value } = change;
  if (values?.includes(value) !== true) return REASONS.noValue(change, value);
  if (initial === value) return REASONS.isDefault;
  return values.length === 1 ? REASONS.onlyValue : undefined;
}

function findForeignUse({ uses, ownerAppId }: TableState, change: ColumnChange) {
  const isUsed = uses.some(
    ({ appId, definition }) =>
      appId !== ownerAppId && definition.columns.some(({ name }) => name === change.column),
  );
  return isUsed ? REASONS.columnUsed(change) : undefined;
}

export function rejectChange(
  change: Change,
  reason: string,
  code: "incompatible_schema" | "not_implemented" = "incompatible_schema",
): Problem {
  return new Problem(code, { message: REJECTIONS.change(change, reason) });
}
