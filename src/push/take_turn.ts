/**
 * The work of pushes that takes a process long, up to tenths of a second a piece: only one piece of it at a time, with a
 * pause before each, however many requests ask for it. Whoever reads and writes rows is answered in between. @module
 */

/** Long enough for other requests to go to the database and back. */
const PAUSE_MS = 5;

/** As the thread is that all the work is done by. */
let last: Promise<void> = Promise.resolve();

/** Resolves when it is the caller's turn, which ends at its next `await`. */
export function takeTurn(): Promise<void> {
  last = last.then(() => Bun.sleep(PAUSE_MS));
  return last;
}
