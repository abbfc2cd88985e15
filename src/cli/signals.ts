/** Signals to stop: the first one stops gracefully, the second one ends the process immediately. @module */

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
type StopSignal = keyof typeof NUMBERS;

/** The signals of Ctrl-C, an orchestrator and a closing terminal. */
export const STOP_SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Max wait for the last log line: a closed pipe must not keep the process alive. */
const CRASH_LOG_MS = 300;

/** Resolves at the first of these signals; at the second `logCrash` runs and the process ends with 128 + its number. */
export function untilSignal(
  signals: readonly StopSignal[],
  logCrash: () => Promise<unknown>,
): Promise<void> {
  return new Promise((resolve) => {
    let isReported = false;
    for (const signal of signals)
      process.on(signal, async () => {
        if (!isReported) {
          isReported = true;
          return resolve();
        }
        await Promise.race([logCrash(), Bun.sleep(CRASH_LOG_MS)]);
        process.exit(128 + NUMBERS[signal]);
      });
  });
}
