/** The hand-over of a table: the one way by which ownership moves, noted in the audit log in the same statement. @module */
import { type Database, SERVICE_QUEUE, SIGNALS, SignalError } from "../db/mod.ts";
import { Problem, type ProblemCode } from "../problem.ts";
import { OPERATOR } from "./audit.ts";
import { unknownApp } from "./keys.ts";

/** By what `rowhouse.transfer_table` raises. */
const REFUSALS: Readonly<Record<string, { code: ProblemCode; message: string }>> = {
  [SIGNALS.pushBusy]: {
    code: "push_busy",
    message: "A push of that table is under way: try again",
  },
  [SIGNALS.unknownTable]: { code: "unknown_table", message: "No table has that name" },
  [SIGNALS.notItsTable]: {
    code: "invalid_request",
    message: "That app does not use the table: it must push its own declaration first",
  },
};

/**
 * Makes another app the owner of a table that it uses; the slug of the app that owned it before.
 *
 * @throws {Problem} unknown_table; unknown_app; invalid_request — the app has not pushed the table; push_busy
 */
export async function transferTable(
  deps: { admin: Database },
  options: { table: string; slug: string },
): Promise<string> {
  try {
    const [row] = await deps.admin.query<{ owner: string }>(
      `with handed as (select rowhouse.transfer_table($1, $2) as owner)
      insert into rowhouse.audit (actor, action, app, details)
      select $3, 'transfer_table', $2, jsonb_build_object('table', $1::text, 'from', owner) from handed
      returning details ->> 'from' as owner`,
      [options.table, options.slug, OPERATOR],
      { retry: "unsafe", queue: SERVICE_QUEUE },
    );
    if (row === undefined) throw new Error("The hand-over of a table gave no row");
    return row.owner;
  } catch (error) {
    throw toRefusal(error, options.slug);
  }
}

function toRefusal(error: unknown, slug: string): unknown {
  if (!(error instanceof SignalError)) return error;
  if (error.signal === SIGNALS.unknownApp) return unknownApp(slug);
  const refusal = REFUSALS[error.signal];
  return refusal === undefined ? error : new Problem(refusal.code, { message: refusal.message });
}
