/** A progress indicator on one line of a terminal, cleared before other output. @module */

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Fast tasks show no indicator. */
const DELAY_MS = 500;
const CLEAR_LINE = "\r\u001B[K";

type Spinner = {
  /** Draws after a short delay, until the returned function is called. */
  start: (label: string | (() => string)) => () => void;
  /** Clears the line before other text. */
  clear: () => void;
};

/**
 * A spinner that draws with `write`.
 *
 * @example
 * ```ts
 * const written: string[] = [];
 * const stop = makeSpinner((text) => written.push(text)).start("Waiting");
 * stop();
 * expect(written).toEqual([]);
 * ```
 */
export function makeSpinner(write: (text: string) => void): Spinner {
  let isDrawn = false;
  const clear = () => {
    if (isDrawn) write(CLEAR_LINE);
    isDrawn = false;
  };
  const start: Spinner["start"] = (label) => {
    const startedAt = performance.now();
    const timer = setInterval(() => {
      const waitedMs = performance.now() - startedAt;
      if (waitedMs < DELAY_MS) return;
      const frame = FRAMES[Math.floor(waitedMs / FRAME_MS) % FRAMES.length];
      write(`\r${frame} ${typeof label === "string" ? label : label()}`);
      isDrawn = true;
    }, FRAME_MS);
    return () => {
      clearInterval(timer);
      clear();
    };
  };
  return { start, clear };
}
