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

/** A controller that a signal also aborts, until `release`: unlike `AbortSignal.any`, it leaves nothing on a signal that lives longer. */
export function link(signal: AbortSignal | undefined) {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  return { controller, release: () => signal?.removeEventListener("abort", onAbort) };
}

/** A deadline that starts now. @throws the signal's reason, if it is already aborted */
export function startDeadline({ signal, timeoutMs, makeTimeout }: Bounds): Deadline {
  const { controller, release } = link(signal);
  const endsAt = performance.now() + timeoutMs;
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
      release();
    },
  };
}

/** The promise's result, unless the signal aborts first. @throws the signal's reason */
export function until<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Resolves after this many milliseconds, or when the caller calls the function that `setWake` receives. @throws the signal's reason */
export function sleep(
  ms: number,
  signal: AbortSignal,
  setWake?: (wake: () => void) => void,
): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, TIMER_MAX_MS));
    setWake?.(resolve);
  });
  return until(slept, signal).finally(() => clearTimeout(timer));
}

/**
 * The values of a generator whose `return()` also ends a wait. It ends with the caller's signal too. `run` receives a signal
 * for both.
 */
export function endable<Value>(
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => AsyncGenerator<Value, void, undefined>,
): AsyncGenerator<Value, void, undefined> {
  const ended = new Error("The loop has ended");
  let stop = (): void => undefined;
  async function* passOn(): AsyncGenerator<Value, void, undefined> {
    const { controller, release } = link(signal);
    stop = () => controller.abort(ended);
    try {
      yield* run(controller.signal);
    } catch (error) {
      if (error !== ended) throw error;
    } finally {
      release();
    }
  }
  const generator = passOn();
  const end = generator.return.bind(generator);
  return Object.assign(generator, {
    return: (value: void | PromiseLike<void>) => {
      stop();
      return end(value);
    },
  });
}
