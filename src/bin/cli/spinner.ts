/** A progress indicator that redraws itself on one line, and is cleared before anything else is printed. @module */
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Nothing is shown for quick work. */
const DELAY_MS = 500;
const CLEAR_LINE = "\r\u001B[K";

export type Spinner = {
  /** Draws after a short delay, until the returned function is called. */
  start: (label: string | (() => string)) => () => void;
  /** Makes room for a line of text. */
  clear: () => void;
};

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
