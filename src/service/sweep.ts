/**
 * Rows whose time is over are deleted in small steps, at intervals and soon after the start, so that short-lived processes
 * do it too. Processes that run at the same time take different rows.
 *
 * @module
 */
import { type Log, noteFault } from "../observe.ts";

const FIRST_MS = 1000;
/** Pause between two steps, so that a log that has grown for years does not keep the database busy. */
const PAUSE_MS = 200;

/** Deletes some rows; whether there may be more of them. */
type Step = () => Promise<boolean>;

export type Sweep = { what: string; intervalMs: number; step: Step };

/** Sweeps from now on, until the returned function is called. */
export function startSweep(log: Log, { what, intervalMs, step }: Sweep): () => void {
  let isStopped = false;
  const sweep = async (): Promise<void> => {
    while (!isStopped && (await step())) await Bun.sleep(PAUSE_MS);
  };
  const run = (): void => void sweep().catch(noteFault(log, `the sweep of ${what}`));
  const first = setTimeout(run, FIRST_MS);
  const timer = setInterval(run, intervalMs);
  for (const timeout of [first, timer]) timeout.unref();
  return () => {
    isStopped = true;
    clearTimeout(first);
    clearInterval(timer);
  };
}
