/** Finds the values that a plan deletes: an app's key needs a scope of its own for them. Pure. @module */
import { allows } from "../principal.ts";
import type { PushingApp } from "./begin_push.ts";
import { keepsValues } from "./conversions.ts";
import type { Plan, Step } from "./step.ts";

/** The tables and columns whose values a plan deletes, or stores in another form. */
export function findDeleted({ steps }: Plan): string[] {
  return steps.flatMap(toDeleted);
}

/** The notice for a plan that this key cannot apply. */
export function describeDeleted({ by }: PushingApp, plan: Plan): string[] {
  const deleted = findDeleted(plan);
  if (by === undefined || deleted.length === 0 || allows(by.scopes, "schema:drop")) return [];
  return [
    `SCOPE: this deletes values (${deleted.join(", ")}): to apply it, use a key with schema:push and schema:drop`,
  ];
}

function toDeleted(step: Step): string[] {
  switch (step.kind) {
    case "drop_table":
      return [step.table.name];
    case "drop_column":
      return [`${step.table}.${step.column.name}`];
    case "swap_column":
      return keepsValues(step.before, step.column) ? [] : [`${step.table}.${step.column.name}`];
    default:
      return [];
  }
}
