/** Reads the audit log, and deletes its oldest entries. The SQL functions that make changes write the entries. @module */
import { call, type Database } from "../../db/mod.ts";
import { SWEEP_STEP } from "../../std/limits.ts";

export type AuditEntry = {
  id: number;
  at: string;
  /** A user's id, `operator`, `sign-in` or `browser`. */
  actor: string;
  action: string;
  userId: string | null;
  email: string | null;
  app: string | null;
  /** The client's IP address for an action in a browser. */
  client: string | null;
  details: Record<string, unknown>;
};

/** The latest `limit` entries, newest first. */
export async function listAudit(deps: { admin: Database }, limit: number): Promise<AuditEntry[]> {
  return (await call(deps.admin, "list_audit", { max_rows: limit })) as AuditEntry[];
}

/** Deletes entries older than `keepS` seconds, one step at a time; returns whether more may remain. */
export async function sweepAudit(deps: { db: Database }, keepS: number): Promise<boolean> {
  return (await call(deps.db, "sweep_audit", { keep_s: keepS })) >= SWEEP_STEP;
}
