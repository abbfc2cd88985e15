/**
 * The conflicts of a push with a recorded table, of its owner and of other apps. For a table's owner too: no drops, renames or
 * type changes, no required values that rows can lack, and no change to other apps' declarations. Reports all conflicts, not
 * only the first.
 *
 * @module
 */

import { isReference } from "../../kinds/mod.ts";
import {
  countUpdated,
  type NamedColumn,
  QUOTAS,
  sumDefaults,
  type TableDefinition,
} from "../../schema/mod.ts";
import { isSubsequence } from "../../std/sort_lists.ts";
import { indexesOf, keysOf, type RecordedDefinition } from "../catalog/mod.ts";
import { type Conflict, FOREIGN, OWN } from "../conflicts.ts";
import { isShared, sumExcessDefaults } from "../sql/deferred.ts";
import type { TableState } from "../state.ts";
import {
  type Difference,
  findDifferences,
  showDefault,
  showOnDelete,
  showType,
  showValues,
} from "./compare.ts";

type Change = { declared: TableDefinition; next: RecordedDefinition; found: TableState };

/** Every conflict of an owner's declaration; `next` is the resulting table. */
export function findOwnerConflicts(change: Change): Conflict[] {
  const { declared, next, found } = change;
  const recorded = found.definition;
  const own = found.uses.find(({ appId }) => appId === found.ownerAppId)?.definition;
  const changed = next.columns.flatMap((column) => {
    const before = recorded.columns.find((other) => other.name === column.name);
    return before === undefined
      ? findUnfillable(next.name, column)
      : [
          ...findOtherType(next.name, column, before),
          ...findOtherOnDelete(column, before, found),
          ...findOtherValues({ declared, own, before }),
          ...findNewDefault(next.name, column, before),
          ...findDemand({ table: next.name, column, before }, isShared(found)),
        ];
  });
  return [
    ...recorded.columns.flatMap((column) => findLeftOut(declared, column)),
    ...changed,
    ...findOvergrowth(next),
    ...findLongDefaults(next, found),
    ...findDeferredKeys(next, found),
    ...findDefaultsInKeys(next, found),
    ...findBrokenUses(next, found),
  ];
}

/** A required column without a default that is no longer declared: every create by the owner would fail. */
function findLeftOut(declared: TableDefinition, column: NamedColumn): Conflict[] {
  if (!column.required || column.default !== undefined) return [];
  if (declared.columns.some((other) => other.name === column.name)) return [];
  return [{ table: declared.name, column: column.name, ...OWN.leftOut }];
}

function findUnfillable(table: string, column: NamedColumn): Conflict[] {
  if (!column.required || column.default !== undefined) return [];
  return [{ table, column: column.name, ...OWN.unfillable }];
}

function findOtherType(table: string, column: NamedColumn, before: NamedColumn): Conflict[] {
  if (showType(column) === showType(before)) return [];
  const differ = isReference(column) || isReference(before) ? OWN.otherReference : OWN.otherType;
  const compared = { wanted: showType(column), found: showType(before) };
  return [{ table, column: column.name, ...differ(compared) }];
}

/** The new reference is validated in the push. If another app declares the column, `findBrokenUses` has the conflict. */
function findOtherOnDelete(
  column: NamedColumn,
  before: NamedColumn,
  { definition, isLarge, ownerAppId, uses }: TableState,
): Conflict[] {
  if (column.onDelete === before.onDelete || showType(column) !== showType(before)) return [];
  const others = uses.filter(({ appId }) => appId !== ownerAppId);
  const isDeclared = others.some((use) =>
    use.definition.columns.some(({ name }) => name === column.name),
  );
  if (isDeclared || (others.length === 0 && !isLarge)) return [];
  const compared = { wanted: showOnDelete(column), found: showOnDelete(before) };
  const describe = others.length > 0 ? OWN.sharedOnDelete : OWN.largeOnDelete;
  return [{ table: definition.name, column: column.name, ...describe(compared) }];
}

type Declarations = {
  declared: TableDefinition;
  /** The owner's earlier declarations. */
  own: TableDefinition | undefined;
  before: NamedColumn;
};

/** A table's new owner can omit values that it never declared, because none of its rows has them. */
function findOtherValues({ declared, own, before }: Declarations): Conflict[] {
  const isThis = ({ name }: NamedColumn) => name === before.name;
  const column = declared.columns.find(isThis);
  if (column?.values === undefined || before.values === undefined) return [];
  const needed = own?.columns.find(isThis)?.values ?? before.values;
  const values = before.values.filter(
    (value) => needed.includes(value) || column.values?.includes(value),
  );
  if (isSubsequence(values, column.values)) return [];
  const dropped = values.filter((value) => column.values?.includes(value) !== true);
  const at = { table: declared.name, column: column.name };
  if (dropped.length > 0) return [{ ...at, ...OWN.droppedValues({ ...at, values: dropped }) }];
  const compared = { wanted: showValues(column), found: showValues({ ...before, values }) };
  return [{ ...at, ...OWN.otherValues(compared) }];
}

/** PostgreSQL cannot use an enum value as a default in the transaction that adds it (55P04). */
function findNewDefault(table: string, column: NamedColumn, before: NamedColumn): Conflict[] {
  if (column.values === undefined || column.default === undefined) return [];
  if (before.values === undefined || before.values.some((value) => value === column.default))
    return [];
  const conflict = OWN.newValueAsDefault(showDefault(column), showDefault(before));
  return [{ table, column: column.name, ...conflict }];
}

type Columns = { table: string; column: NamedColumn; before: NamedColumn };

/** Rows of another app can lack the value, even if that app never declared the column. */
function findDemand({ table, column, before }: Columns, shared: boolean): Conflict[] {
  if (!shared || !column.required || before.required) return [];
  return [{ table, column: column.name, ...OWN.sharedRequired }];
}

/** Undeclared parts count too: quotas and the rule on names that differ only in case apply to the whole table. */
function findOvergrowth(next: TableDefinition): Conflict[] {
  const columns = next.columns.length;
  const indexes = keysOf(next).length + indexesOf(next).length;
  const bytes = sumDefaults(next.columns);
  const updated = countUpdated(next.columns);
  const sums = [
    { sum: columns, max: QUOTAS.columnsPerTable, wanted: `${columns} columns` },
    { sum: indexes, max: QUOTAS.indexesPerTable, wanted: `${indexes} indexes` },
    { sum: bytes, max: QUOTAS.tableDefaultBytes, wanted: `defaults of ${bytes} bytes` },
    { sum: updated, max: QUOTAS.onUpdatePerTable, wanted: `onUpdate in ${updated} columns` },
  ];
  const conflicts = sums
    .filter(({ sum, max }) => sum > max)
    .map(({ max, wanted }) => ({ table: next.name, ...OWN.overgrown(wanted, max) }));
  return [...conflicts, ...findSameFolded(next)];
}

function findSameFolded(next: TableDefinition): Conflict[] {
  const seen = new Map<string, string>();
  return next.columns.flatMap(({ name }) => {
    const other = seen.get(name.toLowerCase());
    seen.set(name.toLowerCase(), name);
    if (other === undefined) return [];
    return [{ table: next.name, column: name, ...OWN.sameFolded(other) }];
  });
}

function findLongDefaults(next: RecordedDefinition, found: TableState): Conflict[] {
  const bytes = sumExcessDefaults(next, found);
  return bytes === undefined ? [] : [{ table: next.name, ...OWN.deferredDefaults(bytes) }];
}

/** A unique constraint on rows of other apps could block their writes: an owner can add one only as the only user. */
function findDeferredKeys(next: TableDefinition, found: TableState): Conflict[] {
  if (!isShared(found)) return [];
  const before = new Set(keysOf(found.definition).map((key) => key.name));
  return keysOf(next)
    .filter((key) => !before.has(key.name))
    .map((key) => ({ table: next.name, ...OWN.sharedUnique(key.columns.join(", ")) }));
}

/**
 * If an app omits a column of a unique constraint, its rows are distinct while the column is null, and duplicates once it
 * has a default. Removing a default is safe.
 */
function findDefaultsInKeys(next: TableDefinition, found: TableState): Conflict[] {
  if (!isShared(found)) return [];
  const inKeys = new Set(keysOf(found.definition).flatMap((key) => key.columns));
  const before = new Map(
    found.definition.columns.map((column) => [column.name, showDefault(column)]),
  );
  return next.columns
    .filter((column) => inKeys.has(column.name) && column.default !== undefined)
    .filter((column) => showDefault(column) !== before.get(column.name))
    .map((column) => ({
      table: next.name,
      column: column.name,
      ...OWN.sharedDefault(showDefault(column)),
    }));
}

/** Other apps' declarations must remain true. Messages address the owner and do not name the other app. */
function findBrokenUses(next: TableDefinition, found: TableState): Conflict[] {
  const broken = found.uses
    .filter((use) => use.appId !== found.ownerAppId)
    .flatMap((use) => findDifferences(use.definition, next))
    .map(({ wanted, found, ...at }) => ({
      ...at,
      ...OWN.declaredByOther({ wanted: found, found: wanted }),
    }));
  return [...new Map(broken.map((conflict) => [JSON.stringify(conflict), conflict])).values()];
}

// The conflicts of an app with a table of another app. The app learns which of its own declarations
// conflict and, for earlier declarations, also why. It never learns types, values or defaults that
// it did not declare.

/** Every conflict of an app's declaration; `before` is its previous declaration of the table. */
export function findForeignConflicts(
  declared: TableDefinition,
  found: TableState,
  before: TableDefinition | undefined,
): Conflict[] {
  const { definition, ownerSlug } = found;
  const isReported = (name: string) =>
    before?.columns.some((column) => column.name === name) === true;
  const isThere = (name: string) => definition.columns.some((column) => column.name === name);
  const conflicts = findDifferences(declared, definition).map((difference) => {
    const { table, column, wanted } = difference;
    if (column !== undefined && !isThere(column))
      return { table, column, ...FOREIGN.undeclared(ownerSlug, wanted) };
    if (column !== undefined && isReported(column))
      return { table, column, ...FOREIGN.different(ownerSlug, difference) };
    return withhold(ownerSlug, difference, declared);
  });
  const added = declared.columns.filter(
    ({ name }) => !isReported(name) && !conflicts.some(({ column }) => column === name),
  );
  return [
    ...new Map(conflicts.map((conflict) => [JSON.stringify(conflict), conflict])).values(),
    ...(before === undefined ? [] : added.flatMap((column) => findFewerValues(column, found))),
  ];
}

/** The app's rows have the owner's defaults in a column that the app has not declared yet, so they can have any enum value. */
function findFewerValues(column: NamedColumn, { definition, ownerSlug }: TableState): Conflict[] {
  const there = definition.columns.find(({ name }) => name === column.name);
  if (column.values?.length === there?.values?.length) return [];
  const at = { table: definition.name, column: column.name };
  return [{ ...at, ...FOREIGN.fewerValues(ownerSlug, showValues(column)) }];
}

/** The conflict without the actual part. An undeclared column is not even named. */
function withhold(
  owner: string,
  { table, column, wanted }: Difference,
  declared: TableDefinition,
): Conflict {
  if (column === undefined) return { table, ...FOREIGN.hidden(owner, wanted) };
  if (declared.columns.some(({ name }) => name === column))
    return { table, column, ...FOREIGN.hidden(owner, "this column") };
  return { table, ...FOREIGN.hidden(owner, "this table with only these columns") };
}
