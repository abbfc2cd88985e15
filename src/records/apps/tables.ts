/**
 * An operator's actions on tables: transfer a table to another app, end an app's use of a table, drop an unused table. The
 * statement of each action writes its audit log entry.
 *
 * @module
 */

import {
  call,
  type Database,
  readRows,
  SIGNALS,
  SignalError,
  ViolationError,
} from "../../db/mod.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { toRejection } from "../actions/rejections.ts";

// Counts and deletes apps' rows for administrators. Code planted in apps' tables runs in the
// session that touches them, so these calls have a separate connection: a command's login that is a
// member of only `rowhouse_rows`, or the data service's login, which executes the jobs that the
// Console stores. Never the administrator's connection or the Console's.

/** Max rows that one statement deletes: far below the statement timeout. */
const ROWS_PER_STEP = 5000;
/** How long to wait for another session with the same job. */
const TRY_AGAIN_MS = 100;

/**
 * Deletes the rows of a job in batches until none are left. Another process can work on the same job.
 *
 * @throws {SignalError} unknownJob — the job does not exist, or was canceled
 * @throws {ViolationError} rows of another table refer to the rows
 */
export async function runRowsJob(rows: Database, job: string): Promise<void> {
  for (;;) {
    const isEmptied = await call(rows, "run_rows_job", { job, max_rows: ROWS_PER_STEP });
    if (isEmptied === true) return;
    if (isEmptied === null) await Bun.sleep(TRY_AGAIN_MS);
  }
}

/**
 * Executes every waiting job, including jobs that a killed process left. A job that fails does not stop the others. Returns
 * the errors of the jobs that failed and will be tried again.
 */
export async function runRowsJobs(db: Database): Promise<unknown[]> {
  const jobs = await readRows<{ id: string }>(
    db,
    "select id::pg_catalog.text as id from rowhouse.row_jobs where ended_at is null order by created_at",
  );
  const errors: unknown[] = [];
  for (const { id } of jobs) await executeJob(db, id).catch((error) => errors.push(error));
  return errors;
}

/** @throws {ViolationError} rows of another table reference rows of an app that is being deleted: that job cannot be canceled */
async function executeJob(db: Database, job: string): Promise<void> {
  try {
    await runRowsJob(db, job);
    await endRowsJob(db, job);
  } catch (error) {
    const isCanceled =
      error instanceof ViolationError && (await call(db, "cancel_rows_job", { job }));
    if (!isCanceled) throw error;
  }
}

/** A table whose use ended, and the app's number of rows in it. */
export type EndedUse = { name: string; rows: number };

/** Ends the registrations of a job whose rows are deleted. Returns `null` for a job of an app's deletion. */
async function endRowsJob(db: Database, job: string): Promise<EndedUse[] | null> {
  return (await call(db, "end_rows_job", { job })) as EndedUse[] | null;
}

/** `rows` is the connection of a login that is a member of only `rowhouse_rows`. */
type RowsDeps = { admin: Database; rows: Database };

/**
 * Checks that an app's use of a table and of its reference circle can end. Returns the tables with the app's number of rows in
 * each.
 *
 * @throws {Problem} unknown_table; unknown_app; push_busy; invalid_request — the app does not use the table, owns it while
 *  others use it, or has another table that references it
 */
export async function findEndedUse(
  deps: RowsDeps,
  { table, slug }: { table: string; slug: string },
): Promise<EndedUse[]> {
  const { app, tables } = await beginEndRegistration(deps, { table, slug });
  const found: EndedUse[] = [];
  for (const name of tables)
    found.push({ name, rows: await call(deps.rows, "count_rows", { wanted_table: name, app }) });
  return found;
}

/**
 * Ends an app's use of the `expected` tables, and deletes its rows in them. The app loses access to the tables immediately. If a
 * step fails, repeat the call to continue.
 *
 * @throws {Problem} as `findEndedUse`; push_busy — also if other tables than `expected` are affected
 */
export async function endRegistration(
  deps: RowsDeps,
  { table, slug, expected }: { table: string; slug: string; expected: readonly string[] },
): Promise<EndedUse[]> {
  const { job } = await beginEndRegistration(deps, { table, slug, expected });
  const toProblem = (error: unknown) => toRejection(error, { name: BEGIN_END, values: {} });
  if (job === null) throw new Error("An end of a registration gave no job");
  try {
    await runRowsJob(deps.rows, job);
  } catch (error) {
    if (error instanceof ViolationError) await call(deps.admin, "cancel_rows_job", { job });
    throw toProblem(error);
  }
  const ended = await endRowsJob(deps.admin, job);
  if (ended === null) throw toProblem(new SignalError(SIGNALS.unknownJob));
  return ended;
}

const BEGIN_END = "begin_end_registration";
type Begun = { app: string; tables: string[]; job: string | null };

/** Without `expected`, only checks. @throws {Problem} as {@linkcode findEndedUse} */
export async function beginEndRegistration(
  actor: Actor,
  { table, slug, expected }: { table: string; slug: string; expected?: readonly string[] },
): Promise<Begun> {
  const values = { app_slug: slug, wanted_table: table, expected };
  return (await runAction(actor, BEGIN_END, values)) as Begun;
}

export type DroppedTable = { name: string; owner: string };

/**
 * Drops an unused table and the tables of its reference circle. Any app can then use the names. Without `expected`, only checks.
 *
 * @throws {Problem} unknown_table; push_busy — also if other tables than `expected` are affected; invalid_request — an
 *  app uses one of them, or another table references one
 */
export async function dropTable(
  actor: Actor,
  { table, expected }: { table: string; expected?: readonly string[] },
): Promise<DroppedTable[]> {
  const values = { wanted_table: table, expected };
  return (await runAction(actor, "drop_table", values)) as DroppedTable[];
}
