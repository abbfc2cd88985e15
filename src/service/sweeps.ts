/**
 * Deletes expired rows in small steps, at intervals and soon after startup, so that short-lived processes participate. Concurrent
 * processes delete different rows: each sweep is an SQL function `sweep_…` beside its subject in `db/code/`.
 *
 * @module
 */

import { type IdempotencySweepDeps, sweepIdempotency } from "../data/mod.ts";
import { call, type Database, sweepLeases } from "../db/mod.ts";
import { sweepNonces } from "../gateway/mod.ts";
import { type Log, logError } from "../observe.ts";
import { sweepAudit } from "../records/actions/mod.ts";
import { sweepThrottle } from "../records/sessions/mod.ts";
import { type Role, servesPeople, servesRows } from "../role.ts";
import { HOUR_S } from "../std/duration.ts";
import {
  AUDIT_RETENTION_S,
  HISTORY_BYTES,
  HISTORY_STEP,
  IDEMPOTENCY_COUNT_S,
  SWEEP_STEP,
} from "../std/limits.ts";
import { sweepStatistics } from "./statistics.ts";

type SweepDeps = IdempotencySweepDeps & {
  options: { log: Log; auditRetentionS?: number | undefined };
  /** Connections of the login for identity. */
  identityDb: Database;
};

/** Between the checks of every second, whose session they use. */
const FIRST_MS = 1500;
/** Pause between steps, so that years of old entries do not overload the database. */
const PAUSE_MS = 200;
const HOURLY_MS = HOUR_S * 1000;
const COUNT_INTERVAL_MS = IDEMPOTENCY_COUNT_S * 1000;
const MINUTE_MS = 60_000;

/** Deletes a batch of rows; returns whether more can follow. */
type Step = () => Promise<boolean>;

type Sweep = { what: string; intervalMs: number; step: Step };

/** Starts the sweeps of a role, at first one after the other, with one session; the returned function stops them. */
export function startSweeps(deps: SweepDeps, role: Role): () => void {
  const { log } = deps.options;
  const sweeps = listSweeps(deps, role).map((sweep) => startSweep(log, sweep));
  const runAll = async () => {
    for (const { run } of sweeps) await run();
  };
  const first = setTimeout(runAll, FIRST_MS);
  first.unref();
  return () => {
    clearTimeout(first);
    for (const { stop } of sweeps) stop();
  };
}

/** The sweeps of a role, whatever the process serves: only the age of a row decides, because another process can have stored it. */
export function listSweeps(deps: SweepDeps, role: Role): Sweep[] {
  const { auditRetentionS = AUDIT_RETENTION_S } = deps.options;
  const sweeps: Sweep[] = [];
  if (servesPeople(role)) {
    const step = () => sweepThrottle({ db: deps.identityDb });
    sweeps.push({ what: "attempts to sign in", intervalMs: HOURLY_MS, step });
  }
  if (servesPeople(role) && auditRetentionS > 0) {
    const step = () => sweepAudit({ db: deps.identityDb }, auditRetentionS);
    sweeps.push({ what: "the audit log", intervalMs: HOURLY_MS, step });
  }
  if (servesRows(role)) {
    const step = () => sweepIdempotency(deps);
    sweeps.push({ what: "idempotency keys", intervalMs: COUNT_INTERVAL_MS, step });
  }
  if (servesRows(role)) {
    const step = async () =>
      (await call(deps.db, "sweep_changes", { max_rows: SWEEP_STEP })) >= SWEEP_STEP;
    sweeps.push({ what: "changes", intervalMs: MINUTE_MS, step });
  }
  if (servesRows(role)) {
    const values = { max_rows: HISTORY_STEP, max_bytes: HISTORY_BYTES };
    const step = async () => (await call(deps.db, "sweep_history", values)) > 0;
    sweeps.push({ what: "the history of rows", intervalMs: MINUTE_MS, step });
  }
  if (role === "all" || role === "gateway") {
    const step = () => sweepLeases(deps);
    sweeps.push({ what: "leases", intervalMs: COUNT_INTERVAL_MS, step });
  }
  if (role === "data" || role === "identity") {
    const step = () => sweepNonces(deps);
    sweeps.push({ what: "nonces", intervalMs: MINUTE_MS, step });
  }
  const step = () => sweepStatistics(deps);
  sweeps.push({ what: "statistics", intervalMs: HOURLY_MS, step });
  return sweeps;
}

/** Starts the sweep at its interval. It runs once at a time; `run` runs it now. */
export function startSweep(
  log: Log,
  { what, intervalMs, step }: Sweep,
): { run: () => Promise<void>; stop: () => void } {
  let isStopped = false;
  const sweep = async (): Promise<void> => {
    while (!isStopped && (await step())) await Bun.sleep(PAUSE_MS);
  };
  let isRunning = false;
  const run = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    await sweep().catch(logError(log, `the sweep of ${what}`));
    isRunning = false;
  };
  const timer = setInterval(run, intervalMs);
  timer.unref();
  return {
    run,
    stop: () => {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
