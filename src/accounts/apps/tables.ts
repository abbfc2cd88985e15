/**
 * What an operator does with apps' tables beside pushes: hand one to another app, end an app's use of one, drop one that
 * no one uses. Each is noted in the audit log by the statement that does it.
 *
 * @module
 */
import { call, type Database, SIGNALS, SignalError, ViolationError } from "../../db/mod.ts";
import { type Actor, runAction } from "../actions/action.ts";
import { toRejection } from "../actions/rejections.ts";
import { type EndedUse, endRowsJob, runRowsJob } from "./rows_jobs.ts";

/** `rows` is the connection of a login that is a member of `rowhouse_rows` alone. */
type RowsDeps = { admin: Database; rows: Database };

/**
 * Makes another app the owner of a table that it uses; returns the slug of the app that owned it before.
 *
 * @throws {Problem} unknown_table; unknown_app; invalid_request — the app has not pushed the table; push_busy
 */
export async function transferTable(
  actor: Actor,
  { table, slug }: { table: string; slug: string },
): Promise<string> {
  const values = { wanted_table: table, new_slug: slug };
  return await runAction(actor, "transfer_table", values);
}

/**
 * Checks that an app's use of a table can end, and of those that refer to each other with it in a circle: the tables with how
 * many rows the app has of each.
 *
 * @throws {Problem} unknown_table; unknown_app; push_busy; invalid_request — the app does not use the table, owns it while
 *   others use it, or has another table that refers to it
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
 * Ends an app's use of the tables that were `told` before, and deletes its rows of them. The app is not served the tables from
 * the first moment on; if a step fails, the call can be repeated and goes on from there.
 *
 * @throws {Problem} as `findEndedUse`; push_busy — also if others than those that were told would go
 */
export async function endRegistration(
  deps: RowsDeps,
  { table, slug, told }: { table: string; slug: string; told: readonly string[] },
): Promise<EndedUse[]> {
  const { job } = await beginEndRegistration(deps, { table, slug, told });
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

/** Without the tables that were `told` before it only checks. @throws {Problem} as {@linkcode findEndedUse} */
export async function beginEndRegistration(
  actor: Actor,
  { table, slug, told }: { table: string; slug: string; told?: readonly string[] },
): Promise<Begun> {
  const values = { wanted_slug: slug, wanted_table: table, told };
  return (await runAction(actor, BEGIN_END, values)) as Begun;
}

/** A table that is dropped, and the slug of the app that owned it. */
export type DroppedTable = { name: string; owner: string };

/**
 * Drops a table that no app uses any more, and those that refer to each other with it in a circle: their names are free
 * then. Without the names that were `told` before it only checks.
 *
 * @throws {Problem} unknown_table; push_busy — also if others than those that were told would go; invalid_request — an
 *   app uses one of them, or another table refers to one
 */
export async function dropTable(
  actor: Actor,
  { table, told }: { table: string; told?: readonly string[] },
): Promise<DroppedTable[]> {
  const values = { wanted_table: table, told };
  return (await runAction(actor, "drop_table", values)) as DroppedTable[];
}
