/**
 * The retention of the audit log: old entries are deleted in small steps, once an hour and soon after the start, so that
 * short-lived processes do it too. Processes that run at the same time take different entries.
 *
 * @module
 */
import { sweepAudit } from "../accounts/mod.ts";
import type { Database } from "../db/mod.ts";
import { type Log, noteFault } from "../observe.ts";

const FIRST_MS = 1000;
const INTERVAL_MS = 3_600_000;
/** Pause between two steps, so that a log that has grown for years does not keep the database busy. */
const PAUSE_MS = 200;

/** Sweeps from now on, until the returned function is called. */
export function startAuditSweep(deps: { db: Database; log: Log; keepS: number }): () => void {
  let isStopped = false;
  const sweep = async (): Promise<void> => {
    while (!isStopped && (await sweepAudit(deps, deps.keepS))) await Bun.sleep(PAUSE_MS);
  };
  const run = (): void => void sweep().catch(noteFault(deps.log, "the sweep of the audit log"));
  const first = setTimeout(run, FIRST_MS);
  const timer = setInterval(run, INTERVAL_MS);
  for (const one of [first, timer]) one.unref();
  return () => {
    isStopped = true;
    clearTimeout(first);
    clearInterval(timer);
  };
}
