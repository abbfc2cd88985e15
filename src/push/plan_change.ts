/**
 * The plan of an explicit change: only for the owner of the table, and only if no other app declares what it changes. Never
 * says which app does. Pure.
 *
 * @module
 */
import { hashColumnSet, indexesOf, keysOf, type RecordedDefinition } from "../catalog/mod.ts";
import {
  findColumnNameFault,
  findTableNameFault,
  type NamedColumn,
  type TableDefinition,
  toDroppedValue,
} from "../dsl/mod.ts";
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";
import { type Change, changeTable, showChange } from "./change.ts";
import { changeRecorded } from "./change_record.ts";
import type { PushState, TableState } from "./state.ts";
import type { Plan, Step } from "./step.ts";

type ChangeOf<Kind extends Change["kind"]> = Extract<Change, { kind: Kind }>;

/** A change of a table that the app owns, which nothing blocks. */
type Checked<Kind extends Change["kind"]> = {
  found: TableState;
  change: ChangeOf<Kind>;
  /** The table afterwards; `undefined` if it is dropped. */
  next: RecordedDefinition | undefined;
  state: PushState;
};

type Planners = { [Kind in Change["kind"]]: (checked: Checked<Kind>) => Step[] };

/** The steps that change the database itself. */
const PLANNERS: Planners = {
  rename_column: ({ found, change: { column, to }, next }) =>
    next === undefined
      ? []
      : [{ kind: "rename", table: next, before: found.definition, column: { from: column, to } }],
  rename_table: ({ found, next }) =>
    next === undefined ? [] : [{ kind: "rename", table: next, before: found.definition }],
  drop_column: ({ found, change }) => [
    { kind: "drop_column", table: found.name, column: findColumn(found, change) },
  ],
  drop_table: ({ found }) => [{ kind: "drop_table", table: found.definition }],
  drop_value: ({ change: { table, column, value }, state }) => [
    {
      ...{ kind: "drop_enum_value", table, column, value },
      label: toDroppedValue((state.migrations.at(-1)?.seq ?? 0) + 1),
    },
  ],
};

type PlanChangeOptions = {
  /** Whether the project has the migration already: a table that another app owns here stays as it is. */
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
    throw refuseChange(change, `this app owns no table ${change.table}`);
  }
  if (state.isDistributed)
    throw refuseChange(
      change,
      "tables of a Citus cluster cannot be changed in this way: add a column or table, copy the rows, and leave the old one",
    );
  checkChange(found, change, state);
  const next = changeRecorded(found.definition, change);
  const plan = PLANNERS[change.kind] as (checked: Checked<Change["kind"]>) => Step[];
  const checked = { found, change, next, state };
  return { steps: [...plan(checked), ...planRecord(checked)], conflicts: [], notes: [] };
}

/** What follows from the change: the record, and the functions of what the app is served now. */
function planRecord({ found, change, next, state }: Checked<Change["kind"]>): Step[] {
  const { ownerAppId, sets, uses } = found;
  const before = uses.find(({ appId }) => appId === ownerAppId)?.definition;
  const used = before && changeTable(before, change);
  const isLeft = ({ appId, unusedS }: TableState["sets"][number]) =>
    appId !== ownerAppId && unusedS === null;
  const left = new Set(sets.filter(isLeft).map(({ hash }) => hash));
  if (used?.name === found.name) left.add(hashColumnSet(used));
  const hashes = [...new Set(sets.map(({ hash }) => hash))].filter((hash) => !left.has(hash));
  return [
    ...(used === undefined ? [] : [{ kind: "create_functions", table: used } as const]),
    { kind: "drop_functions", table: found.name, hashes, gone: [] },
    ...(next === undefined ? [] : [{ kind: "record_table", table: next } as const]),
    ...(used === undefined ? [] : [{ kind: "register", table: used } as const]),
    ...findReferring(found, state).flatMap((table) => planReferring(table, change)),
    { kind: "record_change", table: found.name },
  ];
}

/** The tables with references to this one; all are the app's, because no other app declares it. */
function findReferring({ name, ownerAppId }: TableState, { tables }: PushState): TableState[] {
  return tables.filter(
    (table) =>
      table.ownerAppId === ownerAppId &&
      table.name !== name &&
      table.definition.columns.some((column) => column.table === name),
  );
}

/** PostgreSQL's references follow a table that is renamed; their record has its name. */
function planReferring({ definition, ownerAppId, uses }: TableState, change: Change): Step[] {
  if (change.kind !== "rename_table") return [];
  const next = changeRecorded(definition, change);
  const before = uses.find(({ appId }) => appId === ownerAppId)?.definition;
  const used = before && changeTable(before, change);
  return [
    ...(next === undefined ? [] : [{ kind: "record_table", table: next } as const]),
    ...(used === undefined ? [] : [{ kind: "register", table: used } as const]),
  ];
}

type Checks = {
  [Kind in Change["kind"]]: (
    found: TableState,
    change: ChangeOf<Kind>,
    state: PushState,
  ) => string | undefined;
};

/** Why a change of an own table is rejected; `undefined` if it is not. */
const CHECKS: Checks = {
  rename_column: (found, change) =>
    findMissing(found, change) ??
    findColumnNameFault(change.to) ??
    findTaken(found, change) ??
    findForeignUse(found, change),
  rename_table: (found, { to }, { tables }) =>
    findTableNameFault(to) ??
    (tables.some(({ name }) => name === to) ? `the name ${to} is in use` : undefined) ??
    findForeignTable(found),
  drop_column: (found, change) => findMissing(found, change) ?? findForeignUse(found, change),
  drop_table: (found, _, state) => findForeignTable(found) ?? findReference(found, state),
  drop_value: (found, change) =>
    findMissing(found, change) ?? findValueFault(found, change) ?? findForeignUse(found, change),
};

function checkChange(found: TableState, change: Change, state: PushState): void {
  type Check = (found: TableState, change: Change, state: PushState) => string | undefined;
  const reason = (CHECKS[change.kind] as Check)(found, change, state);
  if (reason !== undefined) throw refuseChange(change, reason);
}

type ColumnChange = Extract<Change, { column: unknown }>;

function findMissing({ definition }: TableState, { table, column }: ColumnChange) {
  if (definition.columns.some(({ name }) => name === column)) return undefined;
  return `${table} has no column ${column}`;
}

function findColumn({ definition }: TableState, { column: name }: ColumnChange): NamedColumn {
  const column = definition.columns.find((other) => other.name === name);
  if (column === undefined) throw new Error(`Column ${name} was not checked`);
  return column;
}

/** Names that differ only in case are the same to people, and indexes are named after their columns. */
function findTaken({ definition }: TableState, change: ChangeOf<"rename_column">) {
  const { table, column, to } = change;
  const taken = definition.columns.find(
    ({ name }) => name !== column && name.toLowerCase() === to.toLowerCase(),
  );
  if (taken !== undefined) return `${table} already has a column ${taken.name}`;
  const next = changeTable(definition, change);
  if (next === undefined || countIndexes(next) === countIndexes(definition)) return undefined;
  return `an index of ${table} would get the name of another one`;
}

function countIndexes(table: TableDefinition): number {
  return keysOf(table).length + indexesOf(table).length;
}

function findForeignTable({ uses, ownerAppId, name }: TableState) {
  return uses.some(({ appId }) => appId !== ownerAppId)
    ? `another app declares ${name}`
    : undefined;
}

function findReference(found: TableState, state: PushState) {
  const [table] = findReferring(found, state);
  const column = table?.definition.columns.find((other) => other.table === found.name);
  if (table === undefined || column === undefined) return undefined;
  const reference = `${table.name}.${column.name}`;
  return `${reference} refers to it; drop ${reference} first`;
}

function findValueFault(found: TableState, change: ChangeOf<"drop_value">) {
  const { values, default: initial } = findColumn(found, change);
  const { table, column, value } = change;
  if (values?.includes(value) !== true) return `${table}.${column} has no value ${quote(value)}`;
  if (initial === value) return "it is the default; push another default first";
  return values.length === 1 ? "it is the only value; drop the column instead" : undefined;
}

/** What other apps declare stays as it is. */
function findForeignUse({ uses, ownerAppId }: TableState, { table, column }: ColumnChange) {
  const isUsed = uses.some(
    ({ appId, definition }) =>
      appId !== ownerAppId && definition.columns.some(({ name }) => name === column),
  );
  return isUsed ? `another app declares ${table}.${column}` : undefined;
}

/** A change that cannot be made, with the reason. */
export function refuseChange(change: Change, reason: string): Problem {
  return new Problem("incompatible_schema", {
    message: `Cannot ${showChange(change)}: ${reason}; nothing was written`,
  });
}
