/**
 * The audit log, newest first, and the deletion of its oldest entries. Entries are written by the statements that change
 * something, never from here.
 *
 * @module
 */
import { call, type Database } from "../../db/mod.ts";

/** The actor in the audit log for what is done on the command line. */
export const OPERATOR = "operator";

export type AuditEntry = {
  id: number;
  at: string;
  /** A user's id, `operator`, `sign-in` or `browser`. */
  actor: string;
  action: string;
  userId: string | null;
  email: string | null;
  app: string | null;
  /** From which address, where a browser did it. */
  client: string | null;
  details: Record<string, unknown>;
};

/** The latest `limit` entries. */
export async function listAudit(deps: { admin: Database }, limit: number): Promise<AuditEntry[]> {
  return (await call(deps.admin, "list_audit", { max_rows: limit })) as AuditEntry[];
}

/** How many entries one step deletes at most, as in `rowhouse.sweep_audit`. */
const SWEEP_STEP = 1000;

/** Deletes some entries that are older than `keepS` seconds; returns whether there may be more. */
export async function sweepAudit(deps: { db: Database }, keepS: number): Promise<boolean> {
  return (await call(deps.db, "sweep_audit", { keep_s: keepS })) >= SWEEP_STEP;
}
