/** Deletes an app: first a description of the effects, then bounded steps. @module */
import { call, type Database } from "../../db/mod.ts";
import { type Detail, Problem } from "../../problem.ts";
import { quoteForShell } from "../../std/quote_for_shell.ts";
import { callAsOperator } from "../actions/action.ts";
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
import { runRowsJob } from "./rows_jobs.ts";

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
