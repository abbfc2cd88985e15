/** The steps from a recorded table to the next state. Steps that would lock a large table for long can be deferred. @module */

import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { indexesOf, keysOf, type RecordedDefinition, referencesOf } from "../catalog/mod.ts";
import type { Step } from "./step.ts";

type ChangeOptions = {
  /** Whether steps that must read all rows run after the push. */
  isDeferred: boolean;
};

/** Empty if both are the same; otherwise all steps, in the order of their dependencies. */
export function planChanges(
  next: RecordedDefinition,
  recorded: RecordedDefinition,
  options: ChangeOptions,
): Step[] {
  if (canonicalJson(next) === canonicalJson(recorded)) return [];
  const before = new Map(recorded.columns.map((column) => [column.name, column]));
  const added = next.columns.filter((column) => !before.has(column.name));
  const common = next.columns.flatMap((column) => {
    const old = before.get(column.name);
    return old === undefined ? [] : [{ column, old }];
  });
  return [
    ...common.flatMap(({ column, old }) => planEnumValues(next.name, column, old)),
    ...added.map((column): Step => ({ kind: "add_column", table: next, column })),
    ...common.flatMap(({ column, old }) => planColumn(next, column, old)),
    ...planConstraints(next, recorded, options),
    ...planReferences(next, added, options),
    ...planReferences(
      next,
      common.flatMap(({ column, old }) => (column.onDelete === old.onDelete ? [] : [column])),
      { isDeferred: false, isReplaced: true },
    ),
    { kind: "record_table", table: next },
  ];
}

function planEnumValues(table: string, column: NamedColumn, old: NamedColumn): Step[] {
  const values = column.values ?? [];
  return values.flatMap((value, index): Step[] => {
    if (old.values?.includes(value) !== false) return [];
    const before = values.slice(index + 1).find((later) => old.values?.includes(later));
    return [{ kind: "add_enum_value", table, column: column.name, value, before }];
  });
}

function planColumn(table: TableDefinition, column: NamedColumn, old: NamedColumn): Step[] {
  const steps: Step[] = [];
  const { name, required } = column;
  if (canonicalJson(column.default ?? null) !== canonicalJson(old.default ?? null))
    steps.push({ kind: "set_default", table, column });
  if (column.onUpdate !== old.onUpdate) steps.push({ kind: "set_on_update", table, column });
  if (required !== old.required)
    steps.push({ kind: "set_required", table: table.name, column: name, required });
  return steps;
}

function planConstraints(
  next: RecordedDefinition,
  recorded: RecordedDefinition,
  { isDeferred }: ChangeOptions,
): Step[] {
  const before = new Set(
    [...keysOf(recorded), ...indexesOf(recorded)].map((constraint) => constraint.name),
  );
  const isNew = (constraint: { name: string }) => !before.has(constraint.name);
  const table = next.name;
  const kind = isDeferred ? "defer_index" : "add_index";
  return [
    // A unique constraint is never deferred: if it failed after the COMMIT, a confirmed push would be incomplete.
    ...keysOf(next)
      .filter(isNew)
      .map((key): Step => ({ kind: "add_key", table, key })),
    ...indexesOf(next)
      .filter(isNew)
      .map((index): Step => ({ kind, table, index })),
  ];
}

/** A reference is on a new column, empty in every row, or replaces a reference with another `onDelete`; it is validated anyway. */
function planReferences(
  table: TableDefinition,
  columns: readonly NamedColumn[],
  { isDeferred, isReplaced = false }: { isDeferred: boolean; isReplaced?: boolean },
): Step[] {
  const names = new Map(referencesOf(table).map((reference) => [reference.columns[0], reference]));
  return columns.flatMap((column): Step[] => {
    const reference = names.get(column.name);
    if (reference === undefined) return [];
    const add = { kind: "add_reference", table, column, isReplaced } as const;
    if (!isDeferred) return [{ ...add, validate: "now" }];
    return [
      { ...add, validate: "later" },
      { kind: "defer_reference", table: table.name, reference },
    ];
  });
}
