/** The end of an app: what goes and what stays is said first, then it goes in bounded steps. @module */
import { call, type Database } from "../../db/mod.ts";
import { type Detail, Problem } from "../../problem.ts";
import { callAsOperator } from "../actions/action.ts";
import { runRowsJob } from "./rows_jobs.ts";

type Deps = { admin: Database };
/** `rows` is the connection of a login that is a member of `rowhouse_rows` alone. */
type RowsDeps = Deps & { rows: Database };

/** What an app has. */
export type AppContents = {
  id: string;
  keys: number;
  grants: number;
  targets: number;
  migrations: number;
  tables: { name: string; isOwned: boolean; rows: number }[];
};

/** What stands in the way: tables of the app that others use, or refer to. */
export type Described = Omit<AppContents, "tables"> & {
  tables: { name: string; isOwned: boolean }[];
  used: { table: string; by: string[] }[];
  referredTo: { table: string; by: string }[];
};

/**
 * What an app has, and whether it can be deleted.
 *
 * @throws {Problem} unknown_app; invalid_request — other apps use its tables; `details` names each with what to do
 */
export async function findAppContents(deps: RowsDeps, slug: string): Promise<AppContents> {
  const described = (await callAsOperator(deps, "describe_app", { app_slug: slug })) as Described;
  const details = findHindrances(described);
  if (details.length > 0)
    throw new Problem("invalid_request", {
      message: `Cannot delete app ${slug}: others need tables that it owns`,
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

/** What stands in the way of an app's end, and what to do about it. */
export function findHindrances({
  used,
  referredTo,
}: Pick<Described, "used" | "referredTo">): Detail[] {
  return [...used.map(toUse), ...referredTo.map(toReference)];
}

function toUse({ table, by }: Described["used"][number]): Detail {
  const message = `used by ${by.join(", ")}; hand it over first: rowhouse admin transfer-table ${table} ${by[0]}`;
  return { path: `/tables/${table}`, message };
}

function toReference({ table, by }: Described["referredTo"][number]): Detail {
  const message = `the table ${by} of another app refers to it; if no app uses that: rowhouse admin drop-table ${by}`;
  return { path: `/tables/${table}`, message };
}

/**
 * Deletes an app with its rows, keys, grants, targets, migrations and the tables that it owns; returns how many rows there
 * were. From the first step on it is disabled. If a step fails, the call can be repeated: it goes on from there.
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
