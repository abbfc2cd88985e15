/** A sign that something goes on, drawn over itself on one line; gone before anything else is printed. @module */
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** What is done sooner shows nothing. */
const DELAY_MS = 500;
const CLEAR_LINE = "\r\u001B[K";

export type Spinner = {
  /** Draws from a moment on; what it gives ends that. */
  start: (label: string) => () => void;
  /** Makes room for a line of text. */
  clear: () => void;
};

export function makeSpinner(write: (text: string) => void): Spinner {
  let isDrawn = false;
  const clear = () => {
    if (isDrawn) write(CLEAR_LINE);
    isDrawn = false;
  };
  const start = (label: string) => {
    const startedAt = performance.now();
    const timer = setInterval(() => {
      const waitedMs = performance.now() - startedAt;
      if (waitedMs < DELAY_MS) return;
      write(`\r${FRAMES[Math.floor(waitedMs / FRAME_MS) % FRAMES.length]} ${label}`);
      isDrawn = true;
    }, FRAME_MS);
    return () => {
      clearInterval(timer);
      clear();
    };
  };
  return { start, clear };
}
