/**
 * Turns of the CPU-heavy work of pushes. A piece can block the thread for hundreds of milliseconds, so a pause before each piece
 * lets requests for rows run. Apps alternate: the pushes of one app delay other apps by one piece.
 *
 * @module
 */

/** Long enough for other requests to reach the database and return. */
const PAUSE_MS = 5;

/** Waiting work by app, the next app in turn first. Per process, because all work shares its thread. */
const waiting = new Map<string, (() => void)[]>();
let isServing = false;

/** Resolves at the app's turn, which ends at the caller's next `await`. */
export function acquireTurn(appId: string): Promise<void> {
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
