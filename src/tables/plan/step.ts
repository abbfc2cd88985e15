/**
 * The steps of a push, their order, and the plan that lists them; types and defaults of columns as PostgreSQL writes them.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../../db/mod.ts";
import { SQL } from "../../kinds/mod.ts";
import type { NamedColumn, TableDefinition, TableRules } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import {
  type ColumnSet,
  type Constraint,
  enumTypeName,
  type RecordedDefinition,
  type ViewSet,
} from "../catalog/mod.ts";
import type { Conflict } from "../conflicts.ts";

export type Step =
  | { kind: "create_table"; table: TableDefinition }
  | {
      kind: "add_enum_value";
      table: string;
      column: string;
      value: string;
      before: string | undefined;
    }
  | { kind: "add_column"; table: TableDefinition; column: NamedColumn }
  | { kind: "set_default"; table: TableDefinition; column: NamedColumn }
  /** Only changes functions. */
  | { kind: "set_on_update"; table: TableDefinition; column: NamedColumn }
  | { kind: "set_required"; table: string; column: string; required: boolean }
  | { kind: "add_key"; table: string; key: Constraint }
  | { kind: "add_index"; table: string; index: Constraint }
  /** Built after the push, without locking the table. */
  | { kind: "defer_index"; table: string; index: Constraint }
  | {
      kind: "add_reference";
      table: TableDefinition;
      column: NamedColumn;
      /** `no`: the table is new and empty. `later`: a separate step after the push. */
      validate: "no" | "now" | "later";
      /** Whether the column has a reference with another `onDelete`. */
      isReplaced: boolean;
    }
  | { kind: "defer_reference"; table: string; reference: Constraint }
  /** The functions of other column sets after the indexes of the table have changed; `whole`: the table with these indexes. */
  | {
      kind: "renew_functions";
      table: string;
      sets: readonly ColumnSet[];
      whole: RecordedDefinition;
    }
  /** For a column set that an app uses. */
  | { kind: "create_functions"; table: TableDefinition; whole: RecordedDefinition }
  | {
      kind: "drop_functions";
      table: string;
      hashes: readonly string[];
      /** The column sets that apps no longer use, whose records are removed too. */
      removed: readonly { appId: string; hash: string }[];
    }
  /** Renames a table or a column, with all names derived from it. */
  | {
      kind: "rename";
      table: RecordedDefinition;
      before: RecordedDefinition;
      column?: { from: string; to: string };
    }
  /** For views of the app, `whole`: the recorded table. */
  | {
      kind: "create_views";
      table: string;
      sets: readonly ViewSet[];
      whole: RecordedDefinition;
    }
  | { kind: "drop_views"; table: string; hashes: readonly string[] }
  | { kind: "drop_column"; table: string; column: NamedColumn }
  | { kind: "drop_table"; table: RecordedDefinition }
  /** The label remains in PostgreSQL's type, under a name that no value can have. */
  | {
      kind: "drop_enum_value";
      table: string;
      column: string;
      value: string;
      label: string;
      /** Indexes of the rows with the value, which follow the label. */
      indexes: readonly string[];
    }
  /** Replaces the column by a copy with another type. */
  | { kind: "swap_column"; appId: string; table: string; before: NamedColumn; column: NamedColumn }
  /** A sentence about rules of the app that change. */
  | { kind: "change_rule"; table: string; sentence: string }
  /** Rules of the app that give people more rights, such as `member reads more rows`. */
  | {
      kind: "widen_rules";
      table: string;
      rights: readonly string[];
      before: TableRules | null;
      after: TableRules;
    }
  | { kind: "record_table"; table: RecordedDefinition }
  /** All current and former declarations of the app for the table; `shares`: it starts to use another app's table. */
  | { kind: "register"; table: TableDefinition; shares?: true }
  /** Removes the records of the table from before an explicit change. */
  | { kind: "record_change"; table: string };

export type Plan = { steps: Step[]; conflicts: Conflict[]; notes: string[] };

// The execution order of steps. Steps on tables that the push itself creates come first, before
// existing tables are locked: apps that use an existing table should wait only for changes to that
// table. Pure.

/** References come after their targets: tables of one push can reference each other. */
const ORDER: readonly Step["kind"][] = [
  "rename",
  "drop_column",
  "drop_table",
  "drop_enum_value",
  "swap_column",
  "add_enum_value",
  "create_table",
  "add_column",
  "set_default",
  "set_on_update",
  "set_required",
  "add_key",
  "add_index",
  "defer_index",
  "add_reference",
  "defer_reference",
  "renew_functions",
  "create_functions",
  "drop_functions",
  "create_views",
  "drop_views",
  "change_rule",
  "widen_rules",
  "record_table",
  "register",
  "record_change",
];

export function orderSteps(steps: readonly Step[]): Step[] {
  const ordered = ORDER.flatMap((kind) => steps.filter((step) => step.kind === kind));
  const { early, deferred } = splitSteps(ordered);
  return [...early, ...deferred];
}

/** Splits steps into those that need no lock on an existing table, and the others. */
export function splitSteps(steps: readonly Step[]): { early: Step[]; deferred: Step[] } {
  const created = findCreated(steps);
  const isEarly = (step: Step) => isOnCreated(step, created);
  return { early: steps.filter(isEarly), deferred: steps.filter((step) => !isEarly(step)) };
}

export function findCreated(steps: readonly Step[]): ReadonlySet<string> {
  return new Set(steps.flatMap((step) => (step.kind === "create_table" ? [step.table.name] : [])));
}

function isOnCreated(step: Step, created: ReadonlySet<string>): boolean {
  switch (step.kind) {
    case "create_table":
      return true;
    case "add_key":
    case "add_index":
      return created.has(step.table);
    case "create_functions":
      return created.has(step.table.name);
    case "add_reference":
      return created.has(step.table.name) && created.has(step.column.table ?? "");
    default:
      return false;
  }
}

// Column kinds as PostgreSQL's types, and defaults as its literals.

export function sqlType(
  table: Pick<TableDefinition, "name">,
  column: Pick<NamedColumn, "name" | "kind">,
): string {
  return SQL[column.kind].type?.name ?? `data.${quoteName(enumTypeName(table.name, column.name))}`;
}

/** A column's default as an expression: a constant, or computed from `now`, the time of the row. */
export function sqlDefault(
  table: Pick<TableDefinition, "name">,
  column: Pick<NamedColumn, "name" | "kind" | "default">,
  now = "pg_catalog.now()",
): string {
  const { computed, isJson } = SQL[column.kind];
  const expression = computed?.[String(column.default)];
  if (expression !== undefined) return expression.render(now);
  // Canonical, so that a default has the same text before and after it is recorded as jsonb.
  const text =
    isJson === true || typeof column.default !== "string"
      ? canonicalJson(column.default)
      : column.default;
  return `${quoteLiteral(text)}::${sqlType(table, column)}`;
}

/** The effect of a delete on a reference. It sets only the reference to null: `app_id` stays. */
export function onDeleteClause(
  { name, onDelete }: Pick<NamedColumn, "name" | "onDelete">,
  print = quoteName,
): string {
  if (onDelete === undefined) return "";
  return ` on delete ${onDelete}${onDelete === "set null" ? ` (${print(name)})` : ""}`;
}

/** The tables whose rules give people more, each with what it gives. */
export function findWidened({ steps }: Plan): string[] {
  return steps.flatMap((step) =>
    step.kind === "widen_rules" ? [`${step.table}: ${step.rights.join("; ")}`] : [],
  );
}
