/** Reads the audit log, and deletes its oldest entries. The SQL functions that make changes write the entries. @module */
import { call, type Database } from "../../db/mod.ts";
import { SWEEP_STEP } from "../../std/limits.ts";
import { count, flag, json, orNull, record, text, time } from "./columns.ts";
import { list, type RowsOf } from "./list.ts";

/** The audit log, newest first. */
export const auditList = list({
  read: "list_audit",
  name: "entries",
  columns: {
    id: count({ label: false }),
    at: time({ title: "When" }),
    /** A person's id, or a fixed name such as `operator`. */
    actor: text({ title: "Event" }),
    actorEmail: orNull(text({ label: false })),
    action: text({ title: "Action" }),
    app: orNull(text()),
    userId: orNull(text({ label: false })),
    /** Null for a deleted person. */
    email: orNull(text({ csv: "user_email" })),
    /** The client's IP address for an action in a browser. */
    client: orNull(text({ label: false })),
    details: json(),
    /** False for a deleted app. */
    appExists: flag({ csv: false }),
  },
  more: {
    /** The app of the filter. */
    app: orNull(record({ disabledAt: orNull(time()) })),
  },
  key: "id",
  ask: ({ of, after, limit }) => ({
    ...{ of_actor: "", of_action: "", app_slug: of, of_person: "", from_at: null, before_at: null },
    ...{ before_id: after === "" ? null : Number(after), max_rows: limit },
    details_chars: 1_000_000_000,
  }),
});
export type AuditEntry = RowsOf<typeof auditList>;

/** Deletes entries older than `keepS` seconds, one step at a time; returns whether more may remain. */
export async function sweepAudit(deps: { db: Database }, keepS: number): Promise<boolean> {
  return (await call(deps.db, "sweep_audit", { keep_s: keepS })) >= SWEEP_STEP;
}
