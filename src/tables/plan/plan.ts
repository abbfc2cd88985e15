/**
 * Plans the effect of a push, as data. Uses only recorded definitions, never PostgreSQL's output from its
 * catalogs. Independent of clock, database and SQL.
 *
 * @module
 */

import { dialectOf } from "../../db/mod.ts";
import { isReference, VALUES } from "../../kinds/mod.ts";
import { type Definition, QUOTAS, type TableDefinition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { findReplaced } from "../../std/replaced.ts";
import { type Constraint, indexesOf, keysOf, type RecordedDefinition } from "../catalog/mod.ts";
import { type Conflict, FOREIGN, RULES, TOO_MANY } from "../conflicts.ts";
import { isShared, markDeferred } from "../sql/deferred.ts";
import type { PushState, TableState } from "../state.ts";
import { accumulate, mergeTable, withoutRules } from "./merge_table.ts";
import { planRenewal, planSets } from "./plan_sets.ts";
import { findTooManyReferences } from "./reference_quota.ts";
import { orderSteps, type Plan, type Step } from "./step.ts";
import { findForeignConflicts, findOwnerConflicts } from "./table_conflicts.ts";
import { planChanges } from "./table_steps.ts";

// Notices of a push for people, in addition to its steps. They name no other app.

/** Parts that an owner no longer declares remain in the database and are still served. */
function describeRemovals(declared: TableDefinition, recorded: TableDefinition): string[] {
  const isDeclared = (name: string) => declared.columns.some((column) => column.name === name);
  const columns = recorded.columns
    .filter((column) => !isDeclared(column.name))
    .map(
      (column) =>
        `KEPT: ${declared.name}.${column.name} is no longer declared; it is kept and still served`,
    );
  const constraints = [
    ...findRemoved(keysOf(recorded), keysOf(declared)),
    ...findRemoved(indexesOf(recorded), indexesOf(declared)),
  ]
    .filter((constraint) => constraint.columns.every(isDeclared))
    .map(
      (constraint) =>
        `KEPT: ${showConstraint(constraint)} of ${declared.name} is no longer declared; it is kept`,
    );
  return [...columns, ...constraints];
}

/** One removed and one added column of the same type: possibly meant as a rename, which a diff never makes. */
function describeRename(declared: TableDefinition, recorded: TableDefinition): string[] {
  const found = findReplaced(recorded.columns, declared.columns, ({ kind }) => kind);
  if (found === undefined) return [];
  const { removed, added } = found;
  const { name } = declared;
  return [
    `RENAME?: ${name}.${added.name} is new and empty; to rename ${name}.${removed.name}, run rowhouse db rename ${quoteForShell(`${name}.${removed.name}`)} ${quoteForShell(added.name)} instead`,
  ];
}

/** Tables of the app that its files no longer declare. */
function describeRemovedTables(appId: string, definition: Definition, state: PushState): string[] {
  const declared = new Set(definition.tables.map((table) => table.name));
  return state.tables
    .filter((table) => table.uses.some((use) => use.appId === appId) && !declared.has(table.name))
    .map(
      (table) =>
        `KEPT: ${table.name} is no longer declared; it stays registered and is still served`,
    );
}

/** Values that existing rows get in a new column. */
function describeAddedDefaults(next: TableDefinition, recorded: TableDefinition): string[] {
  return next.columns
    .filter((column) => !recorded.columns.some((other) => other.name === column.name))
    .filter((column) => column.default !== undefined)
    .map(({ name, kind, default: value }) => {
      const computed = VALUES[kind].default.computed?.[String(value)];
      return `FILLED: existing rows get ${computed?.push ?? "the default"} as ${next.name}.${name}`;
    });
}

function showConstraint({ kind, columns }: Pick<Constraint, "kind" | "columns">): string {
  return `${kind === "key" ? "unique" : "index"} (${columns.join(", ")})`;
}

function findRemoved(before: readonly Constraint[], now: readonly Constraint[]): Constraint[] {
  return before.filter((constraint) => !now.some((other) => other.name === constraint.name));
}

export type PlanOptions = {
  /**
   * A migration in a series of the project's migrations. `followed`: uses tables of other apps as a later definition
   * declares.
   */
  replay?: "followed" | "last" | undefined;
  /** The tables of other apps that the app may start to use. Default: all tables. */
  share?: readonly string[] | undefined;
  /** Whether the pushing process has no routes for people, so that rules would serve no one. */
  rejectsRules?: boolean | undefined;
};

/** The plan that makes the database match an app's definition; without steps if it already matches. */
export function planPush(
  appId: string,
  definition: Definition,
  state: PushState,
  { replay, share, rejectsRules = false }: PlanOptions = {},
): Plan {
  const found = new Map(state.tables.map((table) => [table.name, table]));
  const plans = definition.tables.map((declared) => {
    const table = found.get(declared.name);
    if (table === undefined) return planNewTable(declared);
    const isReplay = replay !== undefined;
    if (table.ownerAppId === appId) return planOwnTable(declared, { found: table, isReplay });
    if (replay === "followed") return NOTHING;
    const isNew = findUse(appId, table) === undefined;
    if (isNew && share?.includes(declared.name) === false) return rejectSharing(declared);
    return planForeignTable(appId, declared, { found: table, isReplay });
  });
  return {
    steps: orderSteps([
      ...plans.flatMap((plan) => plan.steps),
      ...planEndOfRules(appId, definition, state),
    ]),
    conflicts: [
      ...plans.flatMap((plan) => plan.conflicts),
      ...findUnserved(definition, rejectsRules),
      ...findTooManyTables(appId, definition, state),
      ...findTooManyReferences(appId, definition, state),
      ...plans.flatMap((plan) => plan.steps).flatMap((step) => findUnsupported(step, state)),
    ],
    notes: [
      ...plans.flatMap((plan) => plan.notes),
      ...describeRemovedTables(appId, definition, state),
    ],
  };
}

/** Rules that this process does not serve would look like protection. */
function findUnserved({ tables }: Definition, rejects: boolean): Conflict[] {
  if (!rejects) return [];
  // The cause and the remedy are the same for every table.
  return tables
    .filter(({ rules }) => rules !== undefined)
    .slice(0, 1)
    .map(({ name }) => ({ table: name, ...RULES.previewOff }));
}

function findUnsupported(step: Step, state: PushState): Conflict[] {
  const { lacks } = dialectOf(state);
  if (lacks === undefined) return [];
  if (step.kind !== "add_reference" || step.column.onDelete !== "set null") return [];
  return [{ table: step.table.name, column: step.column.name, ...lacks.setNull }];
}

const NOTHING: Plan = { steps: [], conflicts: [], notes: [] };

function planNewTable(declared: TableDefinition): Plan {
  const { name } = declared;
  const table = withoutRules(declared);
  const references = declared.columns.filter(isReference);
  return {
    steps: [
      { kind: "create_table", table },
      ...keysOf(declared).map((key): Step => ({ kind: "add_key", table: name, key })),
      ...indexesOf(declared).map((index): Step => ({ kind: "add_index", table: name, index })),
      ...references.map(
        (column): Step => ({
          ...{ kind: "add_reference", table, column },
          ...{ validate: "no", isReplaced: false },
        }),
      ),
      { kind: "create_functions", table, whole: table },
      { kind: "record_table", table },
      { kind: "register", table: declared },
    ],
    conflicts: [],
    notes: [`NEW: you become the owner of ${name}`],
  };
}

/** A table of another app is used unchanged, or not at all. */
function planForeignTable(
  appId: string,
  declared: TableDefinition,
  { found, isReplay }: Found,
): Plan {
  const before = findUse(appId, found)?.definition;
  const conflicts = findForeignConflicts(declared, found, before);
  const use = planUse(appId, declared, { found, isReplay, next: found.definition });
  const isNews = conflicts.length === 0 && before === undefined;
  return {
    steps: isNews ? use.map(markSharing) : use,
    conflicts,
    notes: isNews
      ? [`SHARED: ${declared.name} already exists; this app uses it unchanged`]
      : describeRemovals(declared, before ?? declared),
  };
}

function markSharing(step: Step): Step {
  return step.kind === "register" ? { ...step, shares: true } : step;
}

/** Does not reveal whether the declaration fits: the app asked not to use the table. */
function rejectSharing({ name }: TableDefinition): Plan {
  return { ...NOTHING, conflicts: [{ table: name, ...FOREIGN.unshared }] };
}

function planOwnTable(declared: TableDefinition, { found, isReplay }: Found): Plan {
  const { ownerAppId, definition: recorded } = found;
  const next = markDeferred(mergeTable(declared, recorded), found);
  const use = planUse(ownerAppId, declared, { found, isReplay, next });
  const before = findUse(ownerAppId, found)?.definition ?? declared;
  return {
    steps: [
      // The size of a shared table would reveal other apps' rows.
      ...planChanges(next, recorded, { isDeferred: found.isLarge || isShared(found) }),
      ...planRenewal(next, found),
      ...use,
    ],
    conflicts: findOwnerConflicts({ declared, next, found }),
    notes: [
      ...describeRemovals(declared, before),
      ...describeRename(declared, recorded),
      ...describeAddedDefaults(next, recorded),
    ],
  };
}

type Found = { found: TableState; isReplay: boolean };

/** The columns that an app will be served: its current and former declarations. */
function planUse(
  appId: string,
  declared: TableDefinition,
  { found, isReplay, next }: Found & { next: RecordedDefinition },
): Step[] {
  const before = findUse(appId, found)?.definition;
  const used = accumulate(declared, before, next);
  if (before !== undefined && canonicalJson(before) === canonicalJson(used)) return [];
  return [
    ...planSets(appId, used, { recorded: found.sets, whole: next, isReplay }),
    { kind: "register", table: used },
  ];
}

/** The rules of an app are those of its last push: a table that it no longer declares has none. */
function planEndOfRules(appId: string, definition: Definition, { tables }: PushState): Step[] {
  const declared = new Set(definition.tables.map(({ name }) => name));
  return tables
    .filter(({ name }) => !declared.has(name))
    .flatMap((found): Step[] => {
      const use = findUse(appId, found)?.definition;
      if (use?.rules === undefined) return [];
      return [{ kind: "register", table: withoutRules(use) }];
    });
}

function findUse(appId: string, found: TableState) {
  return found.uses.find((use) => use.appId === appId);
}

/** Tables that an app no longer declares remain registered, and count. */
function findTooManyTables(appId: string, definition: Definition, state: PushState): Conflict[] {
  const registered = state.tables.filter((table) => findUse(appId, table) !== undefined);
  const names = new Set([...registered, ...definition.tables].map((table) => table.name));
  const fresh = definition.tables.find(
    (table) => !registered.some((other) => other.name === table.name),
  );
  if (fresh === undefined || names.size <= QUOTAS.tables) return [];
  return [{ table: fresh.name, ...TOO_MANY.tables(names.size) }];
}
