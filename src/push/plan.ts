/**
 * Plan: what a push would do, as data. Works on recorded definitions alone, never on what PostgreSQL prints of its
 * catalogs; knows no clock, no database, no text of SQL.
 *
 * @module
 */
import { type Constraint, indexesOf, keysOf } from "../catalog/mod.ts";
import type { Definition, TableDefinition } from "../dsl/mod.ts";
import { canonicalJson } from "../std/canonical_json.ts";
import { type ColumnOf, type Conflict, findConflicts, isSubsequence } from "./compare.ts";
import type { PushState, TableState } from "./state.ts";

export type Step =
  | { kind: "create_table"; table: TableDefinition }
  | {
      kind: "add_enum_value";
      table: string;
      column: string;
      value: string;
      before: string | undefined;
    }
  | { kind: "add_column"; table: TableDefinition; column: ColumnOf }
  | { kind: "set_default"; table: TableDefinition; column: ColumnOf }
  | { kind: "set_required"; table: string; column: string; required: boolean }
  | { kind: "add_key"; table: string; key: Constraint }
  | { kind: "add_index"; table: string; index: Constraint }
  | { kind: "add_reference"; table: TableDefinition; column: ColumnOf }
  | { kind: "replace_functions"; table: TableDefinition }
  | { kind: "record_table"; table: TableDefinition }
  | { kind: "register"; table: TableDefinition };

export type Plan = { steps: Step[]; conflicts: Conflict[]; notes: string[] };

/** The plan that makes an app's definition true; no steps where it is true already. */
export function planPush(appId: string, definition: Definition, state: PushState): Plan {
  const plans = definition.tables.map((declared) => {
    const found = state.tables.find((table) => table.name === declared.name);
    if (found === undefined) return planNewTable(declared);
    return found.ownerAppId === appId
      ? planOwnTable(appId, declared, found)
      : planForeignTable(appId, declared, found);
  });
  const steps = plans.flatMap((plan) => plan.steps);
  return {
    // References come last: tables of one push may point at each other.
    steps: ORDER.flatMap((kind) => steps.filter((step) => step.kind === kind)),
    conflicts: plans.flatMap((plan) => plan.conflicts),
    notes: [...plans.flatMap((plan) => plan.notes), ...noteRemovedTables(appId, definition, state)],
  };
}

const ORDER: readonly Step["kind"][] = [
  "add_enum_value",
  "create_table",
  "add_column",
  "set_default",
  "set_required",
  "add_key",
  "add_index",
  "add_reference",
  "replace_functions",
  "record_table",
  "register",
];

function planNewTable(declared: TableDefinition): Plan {
  return {
    steps: [
      { kind: "create_table", table: declared },
      ...keysOf(declared).map((key): Step => ({ kind: "add_key", table: declared.name, key })),
      ...indexesOf(declared).map(
        (index): Step => ({ kind: "add_index", table: declared.name, index }),
      ),
      ...planReferences(declared, declared.columns),
      { kind: "replace_functions", table: declared },
      { kind: "record_table", table: declared },
      { kind: "register", table: declared },
    ],
    conflicts: [],
    notes: [`NEW: you become the owner of ${declared.name}`],
  };
}

/** A table that another app owns is used as it is, or not at all. */
function planForeignTable(appId: string, declared: TableDefinition, found: TableState): Plan {
  const remedy = `declare it as its owner "${found.ownerSlug}" does, ask "${found.ownerSlug}" to change it, or choose another table name`;
  const conflicts = findConflicts(declared, found.definition, remedy);
  const notes = isRegistered(appId, found)
    ? []
    : [`SHARED: ${declared.name} is owned by ${found.ownerSlug}; you use it`];
  return {
    steps: planRegistration(appId, declared, found),
    conflicts,
    notes: conflicts.length > 0 ? [] : notes,
  };
}

function planOwnTable(appId: string, declared: TableDefinition, found: TableState): Plan {
  const next = mergeTable(declared, found.definition);
  const conflicts = [
    ...findForbiddenChanges(declared, next, found),
    ...found.uses
      .filter((use) => use.appId !== appId)
      .flatMap((use) =>
        findConflicts(
          use.definition,
          next,
          `leave it as it is: the app "${use.slug}" uses this table`,
        ),
      ),
  ];
  return {
    steps: [...planChanges(next, found.definition), ...planRegistration(appId, declared, found)],
    conflicts,
    notes: noteRemovals(declared, found.definition),
  };
}

/** The table after an owner's push: its declaration, and what it no longer declares but the database keeps. */
function mergeTable(declared: TableDefinition, recorded: TableDefinition): TableDefinition {
  const kept = recorded.columns.filter(
    (column) => !declared.columns.some((other) => other.name === column.name),
  );
  const columns = declared.columns.map((column) => {
    const before = recorded.columns.find((other) => other.name === column.name);
    if (before === undefined) return column;
    return {
      ...column,
      unique: column.unique || before.unique,
      index: column.index || before.index,
    };
  });
  return {
    name: declared.name,
    columns: [...columns, ...kept],
    indexes: mergeLists(declared.indexes, recorded.indexes),
    uniques: mergeLists(declared.uniques, recorded.uniques),
  };
}

function mergeLists(
  declared: readonly (readonly string[])[],
  recorded: readonly (readonly string[])[],
): string[][] {
  const kept = recorded.filter(
    (list) => !declared.some((other) => canonicalJson(other) === canonicalJson(list)),
  );
  return [...declared, ...kept].map((list) => [...list]);
}

/** What even an owner may not do: drop, rename, change a type, demand what old rows may lack. */
function findForbiddenChanges(
  declared: TableDefinition,
  next: TableDefinition,
  found: TableState,
): Conflict[] {
  const recorded = found.definition;
  const left = recorded.columns.flatMap((column) => findLeftOutByOwner(declared, column));
  const changed = next.columns.flatMap((column) => {
    const before = recorded.columns.find((other) => other.name === column.name);
    return before === undefined
      ? findUnfillable(next.name, column)
      : findForbiddenChange(next.name, column, before);
  });
  return [...left, ...changed, ...findLateKeys(next, found)];
}

function findLeftOutByOwner(declared: TableDefinition, column: ColumnOf): Conflict[] {
  if (!column.required || column.default !== undefined) return [];
  if (declared.columns.some((other) => other.name === column.name)) return [];
  return [
    {
      table: declared.name,
      column: column.name,
      wanted: "no such column",
      found: "a required column without default, which every create must fill",
      remedy: "declare it again, or give it a default or make it optional before you leave it out",
    },
  ];
}

function findUnfillable(table: string, column: ColumnOf): Conflict[] {
  if (!column.required || column.default !== undefined) return [];
  const remedy = "give it a default, or make it optional";
  return [
    {
      table,
      column: column.name,
      wanted: "a new required column",
      found: "rows that would lack it",
      remedy,
    },
  ];
}

function findForbiddenChange(table: string, column: ColumnOf, before: ColumnOf): Conflict[] {
  const place = { table, column: column.name };
  const conflicts: Conflict[] = [];
  const type = (one: ColumnOf) => [one.kind, one.table, one.onDelete].filter(Boolean).join(" ");
  if (type(column) !== type(before)) {
    conflicts.push({
      ...place,
      wanted: type(column),
      found: type(before),
      remedy: "add a column under another name",
    });
  } else if (!isSubsequence(before.values ?? [], column.values ?? [])) {
    const remedy = "keep every value in its order; add new ones";
    conflicts.push({
      ...place,
      wanted: toList(column.values),
      found: toList(before.values),
      remedy,
    });
  }
  const isNewValue =
    before.values !== undefined && !before.values.some((value) => value === column.default);
  if (column.kind === "enum" && column.default !== undefined && isNewValue) {
    const remedy = "push the new value first, and make it the default in a later push";
    conflicts.push({
      ...place,
      wanted: `default ${JSON.stringify(column.default)}`,
      found: "a new enum value",
      remedy,
    });
  }
  return conflicts;
}

/** A unique on rows of other apps could betray or stop them: only an owner alone may add one. */
function findLateKeys(next: TableDefinition, found: TableState): Conflict[] {
  if (found.uses.every((use) => use.appId === found.ownerAppId)) return [];
  const before = new Set(keysOf(found.definition).map((key) => key.name));
  return keysOf(next)
    .filter((key) => !before.has(key.name))
    .map((key) => ({
      table: next.name,
      wanted: `unique (${key.columns.join(", ")})`,
      found: "rows of other apps",
      remedy: "a unique can be added only while no other app uses the table",
    }));
}

function planChanges(next: TableDefinition, recorded: TableDefinition): Step[] {
  if (canonicalJson(next) === canonicalJson(recorded)) return [];
  const table = next.name;
  const before = new Map(recorded.columns.map((column) => [column.name, column]));
  const added = next.columns.filter((column) => !before.has(column.name));
  const common = next.columns.flatMap((column) => {
    const old = before.get(column.name);
    return old === undefined ? [] : [{ column, old }];
  });
  const keys = new Set(keysOf(recorded).map((key) => key.name));
  const indexes = new Set(indexesOf(recorded).map((index) => index.name));
  return [
    ...common.flatMap(({ column, old }) => planEnumValues(table, column, old)),
    ...added.map((column): Step => ({ kind: "add_column", table: next, column })),
    ...common
      .filter(({ column, old }) => isOtherDefault(column, old))
      .map(({ column }): Step => ({ kind: "set_default", table: next, column })),
    ...common
      .filter(({ column, old }) => column.required !== old.required)
      .map(
        ({ column }): Step => ({
          kind: "set_required",
          table,
          column: column.name,
          required: column.required,
        }),
      ),
    ...keysOf(next)
      .filter((key) => !keys.has(key.name))
      .map((key): Step => ({ kind: "add_key", table, key })),
    ...indexesOf(next)
      .filter((index) => !indexes.has(index.name))
      .map((index): Step => ({ kind: "add_index", table, index })),
    ...planReferences(next, added),
    { kind: "replace_functions", table: next },
    { kind: "record_table", table: next },
  ];
}

function planReferences(table: TableDefinition, columns: readonly ColumnOf[]): Step[] {
  return columns
    .filter((column) => column.kind === "ref")
    .map((column) => ({ kind: "add_reference", table, column }));
}

function planEnumValues(table: string, column: ColumnOf, old: ColumnOf): Step[] {
  const values = column.values ?? [];
  return values.flatMap((value, index): Step[] => {
    if (old.values?.includes(value) !== false) return [];
    const before = values.slice(index + 1).find((later) => old.values?.includes(later));
    return [{ kind: "add_enum_value", table, column: column.name, value, before }];
  });
}

function isOtherDefault(column: ColumnOf, old: ColumnOf): boolean {
  return canonicalJson(column.default ?? null) !== canonicalJson(old.default ?? null);
}

function planRegistration(appId: string, declared: TableDefinition, found: TableState): Step[] {
  const use = found.uses.find((one) => one.appId === appId);
  if (use !== undefined && canonicalJson(use.definition) === canonicalJson(declared)) return [];
  return [{ kind: "register", table: declared }];
}

function isRegistered(appId: string, found: TableState): boolean {
  return found.uses.some((use) => use.appId === appId);
}

/** What an owner's file no longer says stays in the database and stays served. */
function noteRemovals(declared: TableDefinition, recorded: TableDefinition): string[] {
  const columns = recorded.columns
    .filter((column) => !declared.columns.some((other) => other.name === column.name))
    .map(
      (column) =>
        `KEPT: ${declared.name}.${column.name} is no longer declared; it stays and stays served`,
    );
  const gone = (before: Constraint[], now: Constraint[]) =>
    before.filter((one) => !now.some((other) => other.name === one.name));
  const constraints = [
    ...gone(keysOf(recorded), keysOf(declared)),
    ...gone(indexesOf(recorded), indexesOf(declared)),
  ]
    .filter((one) =>
      one.columns.every((name) => declared.columns.some((column) => column.name === name)),
    )
    .map(
      (one) =>
        `KEPT: ${one.kind === "key" ? "unique" : "index"} (${one.columns.join(", ")}) of ${declared.name} stays`,
    );
  return [...columns, ...constraints];
}

function noteRemovedTables(appId: string, definition: Definition, state: PushState): string[] {
  return state.tables
    .filter(
      (table) =>
        isRegistered(appId, table) && !definition.tables.some((one) => one.name === table.name),
    )
    .map(
      (table) => `KEPT: ${table.name} is no longer declared; it stays registered and stays served`,
    );
}

function toList(values: readonly string[] | undefined): string {
  return `values ${JSON.stringify(values ?? [])}`;
}
