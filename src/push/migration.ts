/** The text of a migration: a commented header, then the SQL that ran. Pure; checksums are chained to the parent's. @module */

import { type RenderedPlan, renderDeferred } from "./ddl.ts";
import type { Plan, Step } from "./step.ts";

/** What identifies a migration. */
export type MigrationRecord = { seq: number; name: string; parent: string; checksum: string };

export type Migration = MigrationRecord & { sql: string };

/** The parent of an app's first migration. */
export const NO_PARENT = "";

/** What a step is called in the plan, in file names and in headers. */
const DESCRIPTIONS: {
  [Kind in Step["kind"]]: (step: Extract<Step, { kind: Kind }>) => string | undefined;
} = {
  create_table: ({ table }) => `create table ${table.name}`,
  add_enum_value: ({ table, column, value }) =>
    `add value ${JSON.stringify(value)} to ${table}.${column}`,
  add_column: ({ table, column }) => `add column ${table.name}.${column.name}`,
  set_default: ({ table, column }) => `change the default of ${table.name}.${column.name}`,
  set_required: ({ table, column, required }) =>
    `make ${table}.${column} ${required ? "required" : "optional"}`,
  add_key: ({ table, key }) => `add unique (${key.columns.join(", ")}) to ${table}`,
  add_index: ({ table, index }) => `add index (${index.columns.join(", ")}) to ${table}`,
  defer_index: ({ table, index }) =>
    `add index (${index.columns.join(", ")}) to ${table}, after the push`,
  add_reference: ({ table, column }) =>
    `add reference ${table.name}.${column.name} to ${column.table}`,
  defer_reference: ({ table, reference }) =>
    `validate reference (${reference.columns.join(", ")}) of ${table}, after the push`,
  create_functions: () => undefined,
  drop_functions: () => undefined,
  record_table: () => undefined,
  register: ({ table }) => `register ${table.name}`,
};

/** What the plan does, one line per step, without what follows from another step. Marks what existing rows may prevent. */
export function describePlan(plan: Plan): string[] {
  const fresh = new Set(
    plan.steps.flatMap((step) => (step.kind === "create_table" ? [step.table.name] : [])),
  );
  const isChecked = (step: Step) =>
    (step.kind === "add_key" && !fresh.has(step.table)) ||
    (step.kind === "set_required" && step.required);
  const changed = new Set(
    plan.steps.flatMap((step) =>
      step.kind === "register" || describeStep(step) === undefined ? [] : [toTableName(step)],
    ),
  );
  return plan.steps.flatMap((step) => {
    const line = describeStep(step);
    // An app obviously uses the tables that it changes.
    if (line === undefined || (step.kind === "register" && changed.has(step.table.name))) return [];
    return [isChecked(step) ? `${line} (rows are checked)` : line];
  });
}

function toTableName({ table }: Step): string {
  return typeof table === "string" ? table : table.name;
}

function describeStep(step: Step): string | undefined {
  const describe = DESCRIPTIONS[step.kind] as (step: Step) => string | undefined;
  return describe(step);
}

/** The migration of a plan for the app with this slug; `previous` is the app's last one. */
export function makeMigration(
  { plan, statements }: RenderedPlan,
  { app, previous }: { app: string; previous: { seq: number; checksum: string } | undefined },
): Migration {
  const seq = (previous?.seq ?? 0) + 1;
  const parent = previous?.checksum ?? NO_PARENT;
  const changes = statements.map((statement) => `${statement};\n`);
  const later = plan.steps.flatMap(renderLater).map((line) => `-- after the push: ${line};\n`);
  const header = [
    `-- rowhouse migration ${String(seq).padStart(4, "0")} of app ${app}`,
    ...describePlan(plan).map((line) => `--   ${line}`),
    "-- applied by push; do not edit: its checksum is recorded",
  ];
  const sql = normalise(`${header.join("\n")}\n${changes.join("")}${later.join("")}`);
  return { seq, name: nameMigration(plan), parent, checksum: checksumOf(parent, sql), sql };
}

function renderLater(step: Step): string[] {
  if (step.kind === "defer_index")
    return [renderDeferred({ table: step.table, constraint: step.index })];
  if (step.kind === "defer_reference")
    return [renderDeferred({ table: step.table, constraint: step.reference })];
  return [];
}

/** `sha256:` of the parent's checksum and the text, normalised so that editors and checkouts do not change it. */
export function checksumOf(parent: string, sql: string): string {
  return `sha256:${new Bun.CryptoHasher("sha256").update(parent).update(normalise(sql)).digest("hex")}`;
}

/** UTF-8 without byte order mark, LF, one final newline. */
export function normalise(text: string): string {
  return `${text
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?/g, "\n")
    .replace(/\n+$/, "")}\n`;
}

/** A short name in `[a-z0-9_]`, after the first thing that the plan does. */
function nameMigration(plan: Plan): string {
  const [first = "register"] = plan.steps.flatMap((step) => describeStep(step) ?? []);
  return first
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, 40)
    .replace(/_+$/, "");
}
