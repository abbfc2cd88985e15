/** The end of an app: what goes and what stays is said first, then it goes in bounded steps. @module */
import { call, type Database, readSqlState, SIGNALS, SignalError } from "../../db/mod.ts";
import { type Detail, Problem, type ProblemCode } from "../../problem.ts";
import { OPERATOR } from "../actions/audit.ts";
import { unknownApp } from "./keys.ts";
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
  const reject = (error: unknown) => refuseDeletion(error, slug);
  const values = { app_slug: slug };
  const described = (await call(deps.admin, "describe_app", values, { reject })) as Described;
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
  const reject = (error: unknown) => refuseDeletion(error, slug);
  const values = { app_slug: slug, actor: OPERATOR };
  for (;;) {
    const step = await call(deps.admin, "delete_app_step", values, { reject });
    if (step.is_done) return step.deleted;
    if (step.job !== null) await runRowsJob(deps.rows, step.job);
  }
}

type Refusal = { code: ProblemCode; message: string };

const NEEDED: Refusal = {
  code: "invalid_request",
  message:
    "Another app has begun to use a table that it owns: the app is disabled now, and deleting it again says which table that is",
};
const BUSY: Refusal = {
  code: "push_busy",
  message: "A push of one of its tables is under way: delete it again, which goes on from there",
};

/** By what the functions of `rowhouse` raise, and PostgreSQL where somebody has a table locked. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  [SIGNALS.tableInUse]: NEEDED,
  [SIGNALS.tableReferredTo]: NEEDED,
  [SIGNALS.pushBusy]: BUSY,
  "55P03": BUSY,
  [SIGNALS.isolationBroken]: {
    code: "unavailable",
    message: "The database does not keep apps apart: run rowhouse doctor, and fix what it reports",
  },
};

/** What to throw for an error of a step. */
export function refuseDeletion(error: unknown, slug: string): unknown {
  const state = error instanceof SignalError ? error.signal : readSqlState(error);
  if (state === SIGNALS.unknownApp) return unknownApp(slug);
  const refusal = REFUSALS[state ?? ""];
  return refusal === undefined ? error : new Problem(refusal.code, { ...refusal, cause: error });
}
