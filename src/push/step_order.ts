/**
 * The execution order of steps. Steps on tables that the push itself creates come first, before existing tables
 * are locked: apps that use an existing table should wait only for changes to that table. Pure.
 *
 * @module
 */
import type { Step } from "./step.ts";

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
  "create_functions",
  "drop_functions",
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
