/**
 * Renders steps as SQL: with functions.ts and retype_messages.ts the only writer of generated DDL. Every name comes from a
 * checked definition, and every value goes through `quoteLiteral`.
 *
 * @module
 */

import {
  dialectOf,
  quoteBody,
  quoteLiteral,
  quoteName,
  READER,
  SIGNALS,
  TENANT_POLICY,
} from "../../db/mod.ts";
import { hasOwnType } from "../../kinds/mod.ts";
import type { NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { type Cases, matchKind } from "../../std/match_kind.ts";
import {
  type Constraint,
  canHaveKey,
  deriveName,
  enumTypeName,
  type FunctionSite,
  formerNames,
  indexesOf,
  isOneServer,
  keyName,
  keysOf,
  nameOf,
  namesOf,
  type RecordedDefinition,
  referencesOf,
} from "../catalog/mod.ts";
import { renderSwap } from "../plan/retype_messages.ts";
import {
  onDeleteClause,
  type Plan,
  type Step,
  splitSteps,
  sqlDefault,
  sqlType,
} from "../plan/step.ts";
import { renderFunctionStep } from "./function_steps.ts";
import { renderDropFinder } from "./functions/finder.ts";
import { renderDropFunctions } from "./functions/functions.ts";
import { renderRows, renderTerms } from "./index_terms.ts";

const RENDERERS: Cases<Step, string[]> = {
  create_table: ({ table }) => renderTable(table),
  add_enum_value: ({ table, column, value, before }) => [
    `alter type data.${quoteName(enumTypeName(table, column))} add value ${quoteLiteral(value)}` +
      (before === undefined ? "" : ` before ${quoteLiteral(before)}`),
  ],
  add_column: ({ table, column }) => [
    ...renderEnumTypes(table, [column]),
    `alter table data.${quoteName(table.name)} add column ${renderColumn(table, column)}`,
  ],
  set_default: ({ table, column }) => [
    `alter table data.${quoteName(table.name)} alter column ${quoteName(column.name)} ` +
      (column.default === undefined ? "drop default" : `set default ${sqlDefault(table, column)}`),
  ],
  set_on_update: () => [],
  set_required: ({ table, column, required }) => [
    `alter table data.${quoteName(table)} alter column ${quoteName(column)} ${required ? "set" : "drop"} not null`,
  ],
  add_key: ({ table, key }) => [renderCreate({ table, index: key })],
  add_index: ({ table, index }) => [renderCreate({ table, index })],
  defer_index: () => [],
  add_reference: renderReference,
  defer_reference: () => [],
  // Their text depends on the site.
  renew_functions: () => [],
  create_functions: () => [],
  drop_functions: ({ table, hashes }) =>
    hashes.flatMap((hash) => renderDropFunctions({ table, hash })),
  create_views: () => [],
  drop_views: ({ table, hashes }) => hashes.flatMap((hash) => renderDropFunctions({ table, hash })),
  rename: renderRename,
  drop_column: ({ table, column }) => [
    `alter table data.${quoteName(table)} drop column ${quoteName(column.name)}`,
    ...(hasOwnType(column) ? [`drop type ${sqlType({ name: table }, column)}`] : []),
  ],
  drop_table: ({ table }) => [
    `drop table data.${quoteName(table.name)}`,
    ...table.columns.filter(hasOwnType).map((column) => `drop type ${sqlType(table, column)}`),
  ],
  drop_enum_value: renderDropValue,
  swap_column: renderSwap,
  change_rule: () => [],
  widen_rules: () => [],
  record_table: () => [],
  register: () => [],
  record_change: () => [],
};

/** A plan with the statements that a migration records, without semicolons. */
export type RenderedPlan = { plan: Plan; recorded: readonly string[] };

/** Omits generated functions: they follow from the definition, and are many times larger. */
const UNRECORDED: ReadonlySet<Step["kind"]> = new Set([
  "renew_functions",
  "create_functions",
  "drop_functions",
  "create_views",
  "drop_views",
]);

export function renderPlan(plan: Plan): RenderedPlan {
  const { early, deferred } = splitSteps(plan.steps);
  const recorded = [...early, ...deferred].filter(({ kind }) => !UNRECORDED.has(kind));
  return { plan, recorded: recorded.flatMap(renderStep) };
}

/** The statements of the steps that create functions, if they were rendered before. */
export type RenderedSteps = ReadonlyMap<Step, readonly string[]>;

/** All statements of a plan. Statements that need no lock on an existing table come first. */
export function renderStatements(
  { steps }: Plan,
  site: FunctionSite,
  functions: RenderedSteps = new Map(),
): { early: string[]; deferred: string[] } {
  const { early, deferred } = splitSteps(steps);
  const { toStatement, placeTable } = dialectOf(site);
  const render = (step: Step) => {
    const created = functions.get(step) ?? renderFunctionStep(step, site).statements;
    if (created.length > 0) return created;
    const former = isOneServer(site) ? [...renderFormer(step), ...renderFormerFinder(step)] : [];
    const statements = [...former, ...renderStep(step).map(toStatement)];
    if (step.kind !== "create_table") return statements;
    const { name } = step.table;
    const reader = [...renderReader(name), renderAppEstimate(name)].map(toStatement);
    return [...statements, ...reader, ...placeTable(name)];
  };
  return { early: early.flatMap(render), deferred: deferred.flatMap(render) };
}

/** The statements of a step; empty for steps that only change the record. */
function renderStep(step: Step): string[] {
  return matchKind(RENDERERS, step);
}

function renderTable(table: TableDefinition): string[] {
  const name = `data.${quoteName(table.name)}`;
  const { written } = TENANT_POLICY;
  const columns = [
    `"app_id" pg_catalog.uuid not null`,
    `"id" pg_catalog.uuid not null`,
    ...table.columns.map((column) => renderColumn(table, column)),
    `constraint ${quoteName(`${table.name}__pkey`)} primary key ("app_id", "id")`,
  ];
  return [
    ...renderEnumTypes(table, table.columns),
    `create table ${name} (\n  ${columns.join(",\n  ")}\n)`,
    `alter table ${name} enable row level security`,
    `alter table ${name} force row level security`,
    `create policy tenant on ${name} for all to public\n  using (${written})\n  with check (${written})`,
    `grant select, insert, update, delete on ${name} to rowhouse_tenant`,
  ];
}

/** What lets functions find rows past the tenant's policy. */
export function renderReader(table: string): string[] {
  const name = `data.${quoteName(table)}`;
  return [
    `create policy ${READER.policy} on ${name} for select to ${READER.role} using (true)`,
    `grant select on ${name} to ${READER.role}`,
  ];
}

/**
 * Makes PostgreSQL plan for the largest app: one value of the column, but at most as many rows as its most frequent value.
 * By the values of a sample it plans for an average app. For an app that has grown since, it then reads all of its rows in the
 * order of ids instead of searching an index.
 */
export function renderAppEstimate(table: string): string {
  return `alter table data.${quoteName(table)} alter column "app_id" set (${READER.estimate})`;
}

/** What a step changes, before it, in the keys and indexes of earlier releases. A migration does not record it. */
function renderFormer(step: Step): string[] {
  switch (step.kind) {
    case "drop_column":
      return renderDropKeys(step.table, step.column);
    case "swap_column":
      return renderDropKeys(step.table, step.before);
    case "drop_enum_value":
      return step.indexes.map(renderDropFormer);
    case "rename":
      return [
        ...pairIndexes(step, formerNames).map(renderRenameIndex),
        ...(step.column === undefined ? [] : renderRenameKey(step.before, step.column)),
      ];
    default:
      return [];
  }
}

export function renderDropFormer(index: string): string {
  return `drop index if exists data.${quoteName(index)}`;
}

/** PostgreSQL rejects to drop a column before its key. */
function renderDropKeys(table: string, { name, kind }: NamedColumn): string[] {
  return canHaveKey(kind) ? [renderDropKey(table, keyName(name))] : [];
}

export function renderDropKey(table: string, key: string): string {
  return `alter table data.${quoteName(table)} drop column if exists ${quoteName(key)}`;
}

function renderRenameKey(
  table: TableDefinition,
  { from, to }: { from: string; to: string },
): string[] {
  const kind = table.columns.find(({ name }) => name === from)?.kind;
  if (kind === undefined || !canHaveKey(kind)) return [];
  const name = `data.${quoteName(table.name)}`;
  const [key, renamed] = [keyName(from), keyName(to)];
  return [
    `do ${quoteBody(`begin
  if exists (select from pg_catalog.pg_attribute where attrelid = ${quoteLiteral(name)}::pg_catalog.regclass
    and attname operator(pg_catalog.=) ${quoteLiteral(key)} and not attisdropped) then
    alter table ${name} rename column ${quoteName(key)} to ${quoteName(renamed)};
  end if;
end`)}`,
  ];
}

function renderEnumTypes(table: TableDefinition, columns: readonly NamedColumn[]): string[] {
  return columns.filter(hasOwnType).map((column) => {
    const labels = (column.values ?? []).map(quoteLiteral).join(", ");
    return `create type data.${quoteName(enumTypeName(table.name, column.name))} as enum (${labels})`;
  });
}

function renderColumn(table: TableDefinition, column: NamedColumn): string {
  const parts = [quoteName(column.name), sqlType(table, column)];
  if (column.required) parts.push("not null");
  if (column.default !== undefined) parts.push(`default ${sqlDefault(table, column)}`);
  return parts.join(" ");
}

type AddReference = Extract<Step, { kind: "add_reference" }>;

/**
 * Validation reads rows as the owner. Forced row security hides all rows from the owner, so it is lifted during the
 * check, in the same message.
 */
function renderReference({ table, column, validate, isReplaced }: AddReference): string[] {
  if (column.table === undefined) throw new Error(`Column ${column.name} is not a reference`);
  const source = `data.${quoteName(table.name)}`;
  const target = `data.${quoteName(column.table)}`;
  const constraint = quoteName(deriveName(table.name, [column.name], "fkey"));
  const add =
    `alter table ${source} add constraint ${constraint}` +
    ` foreign key ("app_id", ${quoteName(column.name)}) references ${target} ("app_id", "id")${onDeleteClause(column)}`;
  if (validate === "no") return [add];
  const drop = isReplaced ? [`alter table ${source} drop constraint ${constraint}`] : [];
  if (validate === "later") return [...drop, `${add} not valid`];
  const both = [...new Set([source, target])];
  return [
    ...drop,
    `${add} not valid`,
    ...both.map((name) => `alter table ${name} no force row level security`),
    `alter table ${source} validate constraint ${constraint}`,
    ...both.map((name) => `alter table ${name} force row level security`),
  ];
}

type DropValue = Extract<Step, { kind: "drop_enum_value" }>;

/** Checks that no app has a row with the value. Forced row security is lifted for the check, in the same message. */
function renderDropValue({ table, column, value, label }: DropValue): string[] {
  const name = `data.${quoteName(table)}`;
  return [
    `alter table ${name} no force row level security`,
    `do ${quoteBody(`begin
  if exists (select from ${name} where ${quoteName(column)} = ${quoteLiteral(value)}) then
    raise exception 'rows have the value' using errcode = '${SIGNALS.valueInUse}';
  end if;
end`)}`,
    `alter table ${name} force row level security`,
    `alter type data.${quoteName(enumTypeName(table, column))} rename value ${quoteLiteral(value)} to ${quoteLiteral(label)}`,
  ];
}

/** Drops the finder of a table that gets another name, or none. */
function renderFormerFinder(step: Step): string[] {
  if (step.kind === "drop_table") return [renderDropFinder(step.table.name)];
  const isRenamed = step.kind === "rename" && step.before.name !== step.table.name;
  return isRenamed ? [renderDropFinder(step.before.name)] : [];
}

type Rename = Extract<Step, { kind: "rename" }>;

/**
 * Indexes, constraints and types are named after their table and columns, so they are renamed too. An index of a release before 0.2.0
 * can have its name in the record.
 */
function renderRename({ table, before, column }: Rename): string[] {
  const rename = (name: string) => (name === column?.from ? column.to : name);
  const found = `data.${quoteName(before.name)}`;
  const renamed = `data.${quoteName(table.name)}`;
  const toNames = (of: RecordedDefinition) => referencesOf(of).map(({ name }) => name);
  const references = pairNames(toNames(before), toNames(table));
  const types = before.columns.filter(hasOwnType).map(({ name }) => ({
    from: enumTypeName(before.name, name),
    to: enumTypeName(table.name, rename(name)),
  }));
  return [
    ...(before.name === table.name
      ? []
      : [
          `alter table ${found} rename to ${quoteName(table.name)}`,
          `alter table ${renamed} rename constraint ${quoteName(`${before.name}__pkey`)} to ${quoteName(`${table.name}__pkey`)}`,
        ]),
    ...(column === undefined
      ? []
      : [
          `alter table ${renamed} rename column ${quoteName(column.from)} to ${quoteName(column.to)}`,
        ]),
    ...pairIndexes({ table, before }, (_, index) => namesOf(index)).map(renderRenameIndex),
    ...references.map(
      ({ from, to }) =>
        `alter table ${renamed} rename constraint ${quoteName(from)} to ${quoteName(to)}`,
    ),
    ...types
      .filter(({ from, to }) => from !== to)
      .map(({ from, to }) => `alter type data.${quoteName(from)} rename to ${quoteName(to)}`),
  ];
}

/** The index or reference that a step leaves to be built after the push. */
export function toDeferred(step: Step): DeferredBuild[] {
  if (step.kind === "defer_index") return [{ table: step.table, index: step.index }];
  return step.kind === "defer_reference" ? [{ table: step.table, index: step.reference }] : [];
}

type Renamed = { readonly from: string; readonly to: string };

/** Names of the indexes before and after a rename. */
function pairIndexes(
  { table, before }: Pick<Rename, "table" | "before">,
  list: (table: RecordedDefinition, index: Constraint) => readonly string[],
): Renamed[] {
  const toNames = (of: RecordedDefinition) =>
    [...keysOf(of), ...indexesOf(of)].flatMap((index) => list(of, index));
  return pairNames(toNames(before), toNames(table));
}

/** A table has only some of its former indexes. */
function renderRenameIndex({ from, to }: Renamed): string {
  return `alter index if exists data.${quoteName(from)} rename to ${quoteName(to)}`;
}

/** The names before and after a rename, in the same order, if they differ. */
function pairNames(before: readonly string[], after: readonly string[]): Renamed[] {
  return before
    .map((from, position) => ({ from, to: after[position] ?? from }))
    .filter(({ from, to }) => from !== to);
}

export type DeferredBuild = { table: string; index: Constraint };

/** A deferred step is the only statement of its message, as a concurrent build requires. */
export function renderDeferred(build: DeferredBuild): string {
  const { table, index } = build;
  return index.kind === "fkey"
    ? `alter table data.${quoteName(table)} validate constraint ${quoteName(index.name)}`
    : renderCreate(build, " concurrently");
}

function renderCreate({ table, index }: DeferredBuild, how = ""): string {
  const unique = index.kind === "key" ? " unique" : "";
  return `create${unique} index${how} ${quoteName(nameOf(index))} on data.${quoteName(table)} (${renderTerms(index)}) where ${renderRows(index)}`;
}

/** Drops an index with an unfinished build. On several nodes, some may not have started the build. */
export function renderDropIndex(name: string): string {
  return `drop index concurrently if exists data.${quoteName(name)}`;
}
