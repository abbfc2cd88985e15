/** The limit of a call: the caller's signal and its timeout. Ends with its call. @module */

/** The deadline of a call. */
export type Deadline = {
  /** Aborts with the caller's reason, or with the result of `makeTimeout`. */
  readonly signal: AbortSignal;
  /** Remaining milliseconds. */
  readonly leftMs: () => number;
  /** Resolves after this many milliseconds; rejects with the signal's reason. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Releases the timer and the listener. */
  readonly end: () => void;
};

/** The parts of a deadline. */
export type Bounds = {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly makeTimeout: () => Error;
};

/** The max delay of a timer: longer timers fire immediately. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** A deadline that starts now. @throws the signal's reason, if it is already aborted */
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

/** Resolves after this many milliseconds. @throws the signal's reason */
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
