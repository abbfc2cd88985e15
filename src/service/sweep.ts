/**
 * Deletes expired rows in small steps, at intervals and soon after startup, so that short-lived processes participate.
 * Concurrent processes delete different rows.
 *
 * @module
 */
import { type Log, logError } from "../observe.ts";

const FIRST_MS = 1000;
/** Pause between steps, so that years of old entries do not overload the database. */
const PAUSE_MS = 200;

/** Deletes a batch of rows; returns whether more can follow. */
type Step = () => Promise<boolean>;

export type Sweep = { what: string; intervalMs: number; step: Step };

/** Starts the sweep; the returned function stops it. */
export function startSweep(log: Log, { what, intervalMs, step }: Sweep): () => void {
  let isStopped = false;
  const sweep = async (): Promise<void> => {
    while (!isStopped && (await step())) await Bun.sleep(PAUSE_MS);
  };
  const run = (): void => void sweep().catch(logError(log, `the sweep of ${what}`));
  const first = setTimeout(run, FIRST_MS);
  const timer = setInterval(run, intervalMs);
  for (const timeout of [first, timer]) timeout.unref();
  return () => {
    isStopped = true;
    clearTimeout(first);
    clearInterval(timer);
  };
}
