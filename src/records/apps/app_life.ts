/** Renames apps, and turns their settings on and off. The audit log records each action. @module */

import { type AppSwitchName, describeSwitch, type SwitchStates } from "../../app_switch.ts";
import { call, type Database } from "../../db/mod.ts";
import { type Detail, Problem } from "../../problem.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { type Actor, callAsOperator, callConsole, runAction } from "../actions/action.ts";
import {
  type Checked,
  check,
  count,
  flag,
  many,
  type Row,
  record,
  text,
} from "../actions/columns.ts";
import { checkSlug } from "./apps.ts";
import { runRowsJob } from "./tables.ts";
import type { RegisteredTargets } from "./targets.ts";

/**
 * Renames an app. Its id, rows, keys and grants do not change.
 *
 * @throws {Problem} unknown_app; invalid_request — the new slug is malformed or already in use
 */
export async function renameApp(
  deps: { admin: Database },
  { slug, newSlug }: { slug: string; newSlug: string },
): Promise<void> {
  checkSlug(newSlug);
  await callAsOperator(deps, "rename_app", { old_slug: slug, new_slug: newSlug });
}

/**
 * Turns a setting of an app on or off; returns whether this changed anything. {@linkcode settleAppSwitch} waits for its effect.
 *
 * @throws {Problem} unknown_app; push_busy — a table of the app is in use, and nothing was changed
 */
export async function setAppSwitch(
  actor: Actor,
  slug: string,
  [setting, isOn]: [setting: AppSwitchName, isOn: boolean],
): Promise<boolean> {
  return await runAction(actor, "set_app_switch", { app_slug: slug, setting, is_on: isOn });
}

/** Sets how many days the history of an app's rows goes back; `undefined` is the default. @throws {Problem} unknown_app */
export async function setHistoryDays(
  deps: { admin: Database },
  { slug, days }: { slug: string; days: number | undefined },
): Promise<void> {
  await callAsOperator(deps, "set_history_days", { app_slug: slug, days });
}

/**
 * After a setting that writes obey was turned on, now or by a caller that did not wait: waits for the writes that began before.
 * Then live updates begin. Returns the transactions that have not ended within the limit.
 */
export async function settleAppSwitch(
  actor: Actor,
  slug: string,
  { setting, ...wait }: { setting: AppSwitchName } & Wait,
): Promise<Writer[]> {
  if (describeSwitch(setting).isAwaited !== true) return [];
  const left = await waitForWriters(actor, wait);
  if (setting === "live") await setAppSwitch(actor, slug, [setting, true]);
  return left;
}

/** A transaction that can still write rows. Only operators see whose it is. */
export type Writer = { id: string; pid?: number; login?: string; began_at?: string | null };
type Wait = { limitMs?: number; onWait?: (left: readonly Writer[]) => void };

/** Longer than any request or push lasts, so that only a build or another program's transaction can exceed it. */
const ENDS_MS = 150_000;
const POLL_MS = 100;

/**
 * Waits until every transaction has ended that can have begun before a setting that writes obey was turned on. Returns those
 * that have not ended within the limit.
 */
export async function waitForWriters(
  actor: Actor,
  { limitMs = ENDS_MS, onWait }: Wait = {},
): Promise<Writer[]> {
  const endsAt = performance.now() + limitMs;
  let left = await listWriters(actor);
  for (let isFirst = true; left.length > 0 && performance.now() < endsAt; isFirst = false) {
    if (isFirst) onWait?.(left);
    await Bun.sleep(POLL_MS);
    const running = new Set((await listWriters(actor)).map(({ id }) => id));
    left = left.filter(({ id }) => running.has(id));
  }
  return left;
}

async function listWriters(actor: Actor): Promise<Writer[]> {
  if (!("cookies" in actor)) return await call(actor.admin, "list_writers", {});
  return (await callConsole(actor, "console_list_writers", {})).map((id) => ({ id }));
}

// An app as an archive: its records, and its rows as lines of JSON. Rows are read and stored in
// batches, on the connection of a login that is a member of only `rowhouse_rows`.

/** The limits of an app; `null` is the service's default. */
export type AppLimits = {
  perMinute: number | null;
  perMinuteOfKey: number | null;
};

export type ArchivedApp = {
  id: string;
  slug: string;
  targets: RegisteredTargets;
  limits: AppLimits;
  switches: SwitchStates;
  /** The columns of each table that the app declares. */
  tables: TableDefinition[];
  /** The files of its migrations, in order, and of the project's migrations that one of them joins. */
  migrations: (string | { text: string; joins: string[] })[];
  roles: { email: string; role: string }[];
};

export async function describeArchive(
  { admin }: { admin: Database },
  slug: string,
): Promise<ArchivedApp | undefined> {
  const found = await call(admin, "describe_archive", { app_slug: slug });
  return (found ?? undefined) as ArchivedApp | undefined;
}

/** Max rows or bytes of one statement. */
export const ARCHIVE_BATCH = { rows: 1000, bytes: 1_000_000 } as const;

/** Rows by id, one line of JSON each. */
export type RowLines = { count: number; lines: string };

type AppTable = { app: string; table: TableDefinition };

export async function* readRowLines(
  rows: Database,
  { app, table }: AppTable,
): AsyncGenerator<RowLines, void> {
  let after = "00000000-0000-0000-0000-000000000000";
  for (;;) {
    const { lines, row_count, last } = await call(rows, "read_rows", {
      ...toNames(table),
      app,
      after,
      max_rows: ARCHIVE_BATCH.rows,
      max_bytes: ARCHIVE_BATCH.bytes,
    });
    if (last === null) return;
    yield { count: row_count, lines };
    after = last;
  }
}

/** Stores rows with their ids, without the values of the columns in `empty`. */
export async function restoreRows(
  rows: Database,
  { app, table, empty, lines }: AppTable & { empty: readonly string[]; lines: string },
): Promise<void> {
  await call(rows, "restore_rows", { ...toNames(table), empty, app, lines });
}

/** Sets the values that {@linkcode restoreRows} left empty. */
export async function restoreReferences(
  rows: Database,
  { app, table, empty, lines }: AppTable & { empty: readonly string[]; lines: string },
): Promise<void> {
  await call(rows, "restore_references", { wanted_table: table.name, empty, app, lines });
}

function toNames({ name, columns }: TableDefinition) {
  return { wanted_table: name, names: columns.map((column) => column.name) };
}

// Deletes an app: first a description of the effects, then bounded steps.

type Deps = { admin: Database };
/** `rows` is the connection of a login that is a member of only `rowhouse_rows`. */
type RowsDeps = Deps & { rows: Database };

const CONTENTS = {
  id: text(),
  keys: count(),
  grants: count(),
  targets: count(),
  migrations: count(),
};
const TABLE = { name: text(), isOwned: flag() };
export type AppContents = Row<typeof CONTENTS> & {
  tables: (Row<typeof TABLE> & { rows: number })[];
};

/** The contents of an app, and the blockers of its deletion: tables that other apps use or reference. */
export const APP_END = record({
  ...CONTENTS,
  tables: many(record(TABLE)),
  used: many(record({ table: text(), by: many(text()) })),
  referredTo: many(record({ table: text(), by: text() })),
});
export type AppEnd = Checked<typeof APP_END>;

/**
 * Checks that an app can be deleted, and returns its contents.
 *
 * @throws {Problem} unknown_app; invalid_request — other apps use its tables; `details` names each table and the fix
 */
export async function findAppContents(deps: RowsDeps, slug: string): Promise<AppContents> {
  const found = await callAsOperator(deps, "describe_app", { app_slug: slug });
  const described = check(APP_END, found, "describe_app");
  const details = [...described.used.map(toUse), ...described.referredTo.map(toReference)];
  if (details.length > 0)
    throw new Problem("invalid_request", {
      message: `Cannot delete app ${slug}: other apps need its tables`,
      details,
    });
  const { used: _, referredTo: __, tables, ...contents } = described;
  const counted: AppContents["tables"] = [];
  for (const table of tables)
    counted.push({
      ...table,
      rows: await call(deps.rows, "count_rows", { wanted_table: table.name, app: contents.id }),
    });
  return { ...contents, tables: counted };
}

function toUse({ table, by }: AppEnd["used"][number]): Detail {
  const message = `used by ${by.join(", ")}; transfer it first: rowhouse admin transfer-table ${quoteForShell(table)} ${quoteForShell(by[0] ?? "")}`;
  return { path: `/tables/${table}`, message };
}

function toReference({ table, by }: AppEnd["referredTo"][number]): Detail {
  const message = `the table ${by} of another app references it; if no app uses ${by}: rowhouse admin drop-table ${quoteForShell(by)}`;
  return { path: `/tables/${table}`, message };
}

/**
 * Deletes an app with its rows, keys, grants, targets, migrations and the tables that it owns; returns the number of deleted
 * rows. The first step disables it. If a step fails, repeat the call to continue.
 *
 * @throws {Problem} unknown_app; invalid_request — another app uses a table that it owns; push_busy
 */
export async function deleteApp(deps: RowsDeps, slug: string): Promise<number> {
  for (;;) {
    const step = await callAsOperator(deps, "delete_app_step", { app_slug: slug });
    if (step.is_done) return step.deleted;
    if (step.job !== null) await runRowsJob(deps.rows, step.job);
  }
}

// The order for storing rows of tables that reference each other. Pure.

/** The tables, each after the tables that it references; a circle starts at an optional reference. */
export function orderTables(tables: readonly TableDefinition[]): TableDefinition[] {
  const ordered: TableDefinition[] = [];
  let rest = [...tables];
  while (rest.length > 0) {
    const names = new Set(rest.map(({ name }) => name));
    const open = ({ name, columns }: TableDefinition) =>
      columns.filter(({ table }) => table !== undefined && table !== name && names.has(table));
    const next =
      rest.find((table) => open(table).length === 0) ??
      rest.find((table) => open(table).every(({ required }) => !required)) ??
      rest[0];
    if (next !== undefined) ordered.push(next);
    rest = rest.filter((table) => table !== next);
  }
  return ordered;
}

/** A table, and the references that are left empty until all rows are stored. */
export type RestoreStep = { table: TableDefinition; empty: string[] };
type RestorePlan = {
  steps: RestoreStep[];
  /** Required references to tables that come later: `todos.project`. */
  blockers: string[];
};

/** The steps for storing the rows of tables in this order. */
export function planRestore(ordered: readonly TableDefinition[]): RestorePlan {
  const positions = new Map(ordered.map(({ name }, position) => [name, position]));
  const steps: RestoreStep[] = [];
  const blockers: string[] = [];
  for (const [position, table] of ordered.entries()) {
    const deferred = table.columns.filter(
      (column) => (positions.get(column.table ?? "") ?? -1) >= position,
    );
    const empty = deferred.filter(({ required }) => !required).map(({ name }) => name);
    const needed = deferred.filter((column) => column.required && column.table !== table.name);
    steps.push({ table, empty });
    blockers.push(...needed.map(({ name }) => `${table.name}.${name}`));
  }
  return { steps, blockers };
}
