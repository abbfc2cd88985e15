/** Converts a plan to its description and its migration. Pure. @module */
import type { Definition } from "../../schema/mod.ts";
import { type Cases, matchKind } from "../../std/match_kind.ts";
import {
  type Applied,
  type MigrationRecord,
  NO_PARENT,
  normalizeText,
  showMigration,
  writeMigrationText,
} from "../history/migration_text.ts";
import type { CheckedMigration } from "../history/replayed_migration.ts";
import type { Change } from "../plan/change.ts";
import { findCreated, type Plan, type Step } from "../plan/step.ts";
import { type RenderedPlan, renderDeferred, toDeferred } from "./ddl.ts";

/** The name of a step in plans, file names and headers. */
const DESCRIPTIONS: Cases<Step, string | undefined> = {
  create_table: ({ table }) => `create table ${table.name}`,
  add_enum_value: ({ table, column, value }) =>
    `add value ${JSON.stringify(value)} to ${table}.${column}`,
  add_column: ({ table, column }) => `add column ${table.name}.${column.name}`,
  set_default: ({ table, column }) => `change the default of ${table.name}.${column.name}`,
  set_on_update: ({ table, column }) =>
    `${column.onUpdate === undefined ? "no longer set" : "set"} ${table.name}.${column.name} on updates`,
  set_required: ({ table, column, required }) =>
    `make ${table}.${column} ${required ? "required" : "optional"}`,
  add_key: ({ table, key }) => `add unique (${key.columns.join(", ")}) to ${table}`,
  add_index: ({ table, index }) => `add index (${index.columns.join(", ")}) to ${table}`,
  defer_index: ({ table, index }) =>
    `add index (${index.columns.join(", ")}) to ${table}, after the push`,
  add_reference: ({ table, column, isReplaced }) =>
    isReplaced
      ? `change onDelete of ${table.name}.${column.name} to ${column.onDelete ?? "none"}`
      : `add reference ${table.name}.${column.name} to ${column.table}`,
  defer_reference: ({ table, reference }) =>
    `validate reference (${reference.columns.join(", ")}) of ${table}, after the push`,
  renew_functions: () => undefined,
  create_functions: () => undefined,
  drop_functions: () => undefined,
  create_views: () => undefined,
  drop_views: () => undefined,
  rename: ({ table, before, column }) =>
    column === undefined
      ? `rename table ${before.name} to ${table.name}`
      : `rename column ${table.name}.${column.from} to ${column.to}`,
  drop_column: ({ table, column }) => `drop column ${table}.${column.name}`,
  drop_table: ({ table }) => `drop table ${table.name}`,
  swap_column: ({ table, before, column }) =>
    `change column ${table}.${column.name} from ${before.kind} to ${column.kind}`,
  drop_enum_value: ({ table, column, value }) =>
    `drop value ${JSON.stringify(value)} of ${table}.${column}`,
  change_rule: ({ sentence }) => sentence,
  // A notice names them.
  widen_rules: () => undefined,
  record_table: () => undefined,
  record_change: () => undefined,
  register: ({ table }) => `register ${table.name}`,
};

/** The plan, one line per step, without implied steps. Marks steps that existing rows can block. */
function describePlan(plan: Plan): string[] {
  const fresh = findCreated(plan.steps);
  const isChecked = (step: Step) =>
    (step.kind === "add_key" && !fresh.has(step.table)) ||
    (step.kind === "set_required" && step.required) ||
    step.kind === "drop_enum_value" ||
    step.kind === "swap_column";
  const changed = new Set(
    plan.steps.flatMap((step) => {
      const isChange = step.kind !== "register" && describeStep(step) !== undefined;
      return isChange || step.kind === "record_table"
        ? [typeof step.table === "string" ? step.table : step.table.name]
        : [];
    }),
  );
  return plan.steps.flatMap((step) => {
    const line = describeStep(step);
    // An app obviously uses the tables that it changes.
    if (line === undefined || (step.kind === "register" && changed.has(step.table.name))) return [];
    return [isChecked(step) ? `${line} (rows are checked)` : line];
  });
}

/** A readable plan, and the tables of other apps that the app would start to use. */
export type PlanSummary = { steps: string[]; notes: string[]; shared: string[] };

export function summarizePlan(plan: Plan): PlanSummary {
  const shared = plan.steps.flatMap((step) =>
    step.kind === "register" && step.shares === true ? [step.table.name] : [],
  );
  return { steps: describePlan(plan), notes: plan.notes, shared };
}

function describeStep(step: Step): string | undefined {
  return matchKind(DESCRIPTIONS, step);
}

type Previous = { seq: number; checksum: string } | undefined;

type Created = {
  definition: Definition;
  change?: Change | undefined;
  /** The last project migration that the migration joins. */
  joins?: MigrationRecord | undefined;
  previous: Previous;
};

/** A new migration of the project; `previous` is its last migration. */
export function makeMigration(
  rendered: RenderedPlan,
  { definition, change, joins, previous }: Created,
): Applied {
  const { plan } = rendered;
  const parent = previous?.checksum ?? NO_PARENT;
  const name = joins === undefined ? nameMigration(plan) : toName(`join ${showMigration(joins)}`);
  const head = { seq: (previous?.seq ?? 0) + 1, name, parent };
  const sql = renderSql(rendered);
  const written = writeMigrationText({
    ...head,
    steps: describePlan(plan),
    definition,
    change,
    joins,
    sql,
  });
  return { ...head, ...written, sql };
}

/** An existing project migration, as applied here: its own text, and the statements that run at this service. */
export function adoptMigration(
  rendered: RenderedPlan,
  { replayed, previous }: { replayed: CheckedMigration; previous: Previous },
): Applied {
  const { seq, name, checksum, text } = replayed;
  const parent = previous?.checksum ?? NO_PARENT;
  return { seq, name, parent, checksum, text: normalizeText(text), sql: renderSql(rendered) };
}

/** The executed and the deferred statements. Omits generated functions, which follow from the definition. */
function renderSql({ plan, recorded }: RenderedPlan): string {
  const changes = recorded.map((statement) => `${statement};\n`);
  const later = plan.steps
    .flatMap((step) => toDeferred(step).map(renderDeferred))
    .map((line) => `-- after the push: ${line};\n`);
  return [...changes, ...later].join("");
}

/** A short name in `[a-z0-9_]`, from the first step of the plan. */
function nameMigration(plan: Plan): string {
  const [first = "register"] = plan.steps.flatMap((step) => describeStep(step) ?? []);
  return toName(first);
}

function toName(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, 40)
    .replace(/_+$/, "");
}
