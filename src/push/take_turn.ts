/**
 * The work of pushes that takes a process long, up to tenths of a second a piece: only one piece of it at a time, with a
 * pause before each, however many requests ask for it. Whoever reads and writes rows is answered in between, and apps have
 * their turns in rotation: one that pushes much waits behind itself. @module
 */

/** Long enough for other requests to go to the database and back. */
const PAUSE_MS = 5;

/** Who waits, by app; the next app in turn comes first. As the thread is that all the work is done by. */
const waiting = new Map<string, (() => void)[]>();
let isServing = false;

/** Resolves when it is the app's turn, which ends at the caller's next `await`. */
export function takeTurn(appId: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const own = waiting.get(appId);
  if (own === undefined) waiting.set(appId, [resolve]);
  else own.push(resolve);
  if (!isServing) void serve();
  return promise;
}

async function serve(): Promise<void> {
  isServing = true;
  for (let next = waiting.entries().next(); !next.done; next = waiting.entries().next()) {
    await Bun.sleep(PAUSE_MS);
    const [appId, waiters] = next.value;
    const start = waiters.shift();
    waiting.delete(appId);
    if (waiters.length > 0) waiting.set(appId, waiters);
    start?.();
  }
  isServing = false;
}
