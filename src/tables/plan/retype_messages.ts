/**
 * The SQL of a retype: adds a copy of the column, fills it in batches, compares it once with the column, and swaps the two.
 * All statements run as the owner of the tables with the app as the tenant, so they read only the app's rows. Other
 * apps' rows have the copy's default. Pure.
 *
 * @module
 */

import {
  APP_SETTING,
  LOCK_BUDGET_MS,
  NODES_IN_TURN,
  quoteBody,
  quoteLiteral,
  quoteName,
  SIGNALS,
} from "../../db/mod.ts";
import { hasOwnType } from "../../kinds/mod.ts";
import { allows } from "../../principal.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { enumTypeName, TABLE_OWNER } from "../catalog/mod.ts";
import type { PushingApp } from "../push_key.ts";
import { COPY, copyType, copyTypeName, keepsValues, renderConversion } from "../sql/conversions.ts";
import type { Change } from "./change.ts";
import { type Plan, type Step, sqlDefault } from "./step.ts";

export const MESSAGE_TIMEOUT_MS = 120_000;

/** Transaction settings of every message that changes tables or functions. */
export const MESSAGE_SETTINGS = [
  `set local statement_timeout = '${MESSAGE_TIMEOUT_MS}ms'`,
  `set local lock_timeout = '${LOCK_BUDGET_MS}ms'`,
  // Half of the time of a push: the first call of a function checks its body again.
  "set local check_function_bodies = off",
  NODES_IN_TURN,
  `set local role ${TABLE_OWNER}`,
] as const;

export type Swap = Extract<Step, { kind: "swap_column" }>;

/** Rows per batch, far below the statement timeout. */
const BATCH_ROWS = 2000;

/** Settings of statements that read or write the rows of the app. */
function renderTenant(appId: string): string[] {
  return [
    "set local search_path = pg_catalog",
    "set local timezone = 'UTC'",
    `select pg_catalog.set_config('${APP_SETTING}', ${quoteLiteral(appId)}, true), rowhouse.check_writes(${quoteLiteral(appId)})`,
  ];
}

/** Adds the copy of a column; `lock`, the first statement, verifies that the state is unchanged. */
export function renderBegin(
  { appId, table, column }: Swap,
  { change, lock }: { change: Change; lock: string },
): string {
  const type = copyType({ table, column });
  const labels = (column.values ?? []).map(quoteLiteral).join(", ");
  const initial = column.default === undefined ? "" : ` default ${copyDefault(table, column)}`;
  return [
    lock,
    ...MESSAGE_SETTINGS,
    `select rowhouse.begin_retype(${quoteLiteral(appId)}, ${quoteLiteral(table)}, ${quoteLiteral(canonicalJson(change))}::pg_catalog.jsonb)`,
    ...(hasOwnType(column) ? [`create type ${type} as enum (${labels})`] : []),
    renderLock(table),
    `alter table data.${quoteName(table)} add column "${COPY}" ${type}${initial}`,
  ].join(";\n");
}

/** Drops the copy, unless another request has dropped it. */
export function renderCancel(appId: string, table: string, lock: string): string {
  return [
    lock,
    ...MESSAGE_SETTINGS,
    renderLock(table),
    `alter table data.${quoteName(table)} drop column if exists "${COPY}"`,
    `drop type if exists data."${copyTypeName(table)}"`,
    `select rowhouse.end_retype(${quoteLiteral(appId)}, ${quoteLiteral(table)})`,
  ].join(";\n");
}

/** Converts the next rows in the order of their ids. Returns whether there were any, and how many do not convert. */
export function renderBatch({ appId, table, before, column }: Swap): string {
  const { check, value } = convert({ table, before, column });
  const name = `data.${quoteName(table)}`;
  return [
    ...MESSAGE_SETTINGS,
    ...renderTenant(appId),
    `with batch as materialized (
  select id, pg_catalog.row_number() over (order by id desc) as ordinal from (
    select id from ${name} where app_id = ${quoteLiteral(appId)}::pg_catalog.uuid
      and id > (select coalesce(after, '00000000-0000-0000-0000-000000000000') from rowhouse.retypes where table_name = ${quoteLiteral(table)})
    order by id limit ${BATCH_ROWS}) as next
), copied as (
  update ${name} as "$t" set "${COPY}" = ${value}
  from batch where "$t".app_id = ${quoteLiteral(appId)}::pg_catalog.uuid and "$t".id = batch.id
  returning ${check} as converts
), recorded as (
  update rowhouse.retypes set after = (select id from batch where ordinal = 1)
  where table_name = ${quoteLiteral(table)} and exists (select from batch)
)
select (select pg_catalog.count(*) from batch)::pg_catalog.text as rows, pg_catalog.count(*) filter (where not converts)::pg_catalog.text as failed from copied`,
  ].join(";\n");
}

/** A copy whose rows all have the values that the column had at the horizon, or newer values. */
export type Copied = {
  /** The number of the copy in its table: no later copy has it. */
  copy: string;
  /** A transaction: earlier transactions change no more rows. */
  horizon: string;
};

/** Finds the copy and its present horizon. No row if another request has ended the retype, or begun another. */
export function renderHorizon({ table }: Swap, change: Change): string {
  return [
    ...MESSAGE_SETTINGS,
    `select attnum::pg_catalog.text as copy, pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::pg_catalog.text as horizon
from pg_catalog.pg_attribute where ${isCopyOf(table)} and exists (select from rowhouse.retypes
  where table_name = ${quoteLiteral(table)} and change = ${quoteLiteral(canonicalJson(change))}::pg_catalog.jsonb)`,
  ].join(";\n");
}

function isCopyOf(table: string): string {
  return `attrelid = ${quoteLiteral(`data.${quoteName(table)}`)}::pg_catalog.regclass and attname = ${quoteLiteral(COPY)}`;
}

const COPIED_SETTING = "rowhouse.copied";

/**
 * Passes to the swap what its own request has copied: another run of the same retype has another horizon, which is later than
 * writes that only its own comparison would find.
 */
export function renderCopied({ copy, horizon }: Copied): string {
  return `select pg_catalog.set_config('${COPIED_SETTING}', ${quoteLiteral(`${copy} ${horizon}`)}, true)`;
}

/** Converts rows written since they were copied. Returns how many do not convert. */
export function renderSettle(swap: Swap): string {
  const { appId, table, before, column } = swap;
  const { check, value } = convert({ table, before, column });
  return [
    ...MESSAGE_SETTINGS,
    ...renderTenant(appId),
    `with copied as (
  update data.${quoteName(table)} as "$t" set "${COPY}" = ${value}
  where "$t".app_id = ${quoteLiteral(appId)}::pg_catalog.uuid and "${COPY}" is distinct from ${value}
)
select pg_catalog.count(*)::pg_catalog.text as failed from data.${quoteName(table)} as "$t" where "$t".app_id = ${quoteLiteral(appId)}::pg_catalog.uuid and not ${check}`,
  ].join(";\n");
}

/** The rows that do not convert, as a condition on "$t". */
export function renderUnconverted({ table, before, column }: Swap): string {
  return `not ${convert({ table, before, column }).check}`;
}

/**
 * Swaps the copy and the column under the table's lock. Finds rows written since the last comparison by
 * their transaction, without reading their values.
 */
export function renderSwap({ appId, table, before, column }: Swap): string[] {
  const name = `data.${quoteName(table)}`;
  const { check, value } = convert({ table, before, column });
  const renamed = quoteName(column.name);
  const type = enumTypeName(table, column.name);
  return [
    ...renderTenant(appId),
    `do ${quoteBody(`declare
  copied text[] := pg_catalog.string_to_array(pg_catalog.current_setting('${COPIED_SETTING}', true), ' ');
  since xid8 := copied[2];
begin
  if not exists (select from pg_catalog.pg_attribute where ${isCopyOf(table)} and attnum::pg_catalog.text = copied[1]) then
    raise exception 'another retype has begun' using errcode = '${SIGNALS.catalogMoved}';
  end if;
  update ${name} as "$t" set "${COPY}" = ${value}
  where "$t".app_id = ${quoteLiteral(appId)}::pg_catalog.uuid and pg_catalog.age("$t".xmin) <= pg_catalog.age(since::pg_catalog.xid)
    and "${COPY}" is distinct from ${value};
  if exists (select from ${name} as "$t" where "$t".app_id = ${quoteLiteral(appId)}::pg_catalog.uuid
    and pg_catalog.age("$t".xmin) <= pg_catalog.age(since::pg_catalog.xid) and not ${check}) then
    raise exception 'a value does not convert' using errcode = '${SIGNALS.valueUnconverted}';
  end if;
end`)}`,
    `alter table ${name} drop column ${renamed}`,
    ...(hasOwnType(before) ? [`drop type data.${quoteName(type)}`] : []),
    `alter table ${name} rename column "${COPY}" to ${renamed}`,
    ...(hasOwnType(column)
      ? [`alter type data."${copyTypeName(table)}" rename to ${quoteName(type)}`]
      : []),
    ...(column.required ? [`alter table ${name} alter column ${renamed} set not null`] : []),
    `select rowhouse.end_retype(${quoteLiteral(appId)}, ${quoteLiteral(table)})`,
  ];
}

type Retyped = Pick<Swap, "table" | "before" | "column">;

function convert(retyped: Retyped) {
  return renderConversion(`"$t".${quoteName(retyped.before.name)}`, retyped);
}

export function renderLock(table: string): string {
  return `do $rowhouse$ begin perform rowhouse.lock_tables(array[${quoteLiteral(table)}], '{}', ${LOCK_BUDGET_MS}); end $rowhouse$`;
}

/** The default of the copy. The name of its type can differ from the column's. */
function copyDefault(table: string, column: NamedColumn): string {
  const text = sqlDefault({ name: table }, column);
  if (!hasOwnType(column)) return text;
  return `${quoteLiteral(String(column.default))}::${copyType({ table, column })}`;
}

// Finds the values that a plan deletes: an app's key needs a scope of its own for them. Pure.

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
