/**
 * Counts and deletes apps' rows for administrators. Code planted in apps' tables runs in the session that touches them, so these
 * calls have a separate connection: a command's login that is a member of only `rowhouse_rows`, or the data service's login,
 * which executes the jobs that the Console stores. Never the administrator's connection or the Console's.
 *
 * @module
 */
import { call, type Database, readRows, ViolationError } from "../../db/mod.ts";

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
export async function endRowsJob(db: Database, job: string): Promise<EndedUse[] | null> {
  return (await call(db, "end_rows_job", { job })) as EndedUse[] | null;
}
