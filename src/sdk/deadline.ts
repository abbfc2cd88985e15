/** One bound on all that a call does: the caller's signal and the time it may take. Never outlives its call. @module */

/** What ends a call early. */
export type Deadline = {
  /** Aborted with the caller's reason, or with what `makeTimeout` made. */
  readonly signal: AbortSignal;
  /** Milliseconds that are left. */
  readonly leftMs: () => number;
  /** Resolves after so many milliseconds; rejects with the signal's reason. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Gives back the timer and the listener. */
  readonly end: () => void;
};

/** What a deadline is made of. */
export type Bounds = {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly makeTimeout: () => Error;
};

/** Timers take no more: a longer one would fire at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * A deadline that starts now.
 *
 * @throws the signal's reason, when it is aborted already
 */
export function startDeadline({ signal, timeoutMs, makeTimeout }: Bounds): Deadline {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const endsAt = performance.now() + timeoutMs;
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  const timer =
    timeoutMs > TIMER_MAX_MS
      ? undefined
      : setTimeout(() => controller.abort(makeTimeout()), timeoutMs);
  return {
    signal: controller.signal,
    leftMs: () => endsAt - performance.now(),
    sleep: (ms) => sleep(ms, controller.signal),
    end: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

/** Resolves after so many milliseconds. @throws the signal's reason */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
