/** Long work in pieces, so that other work of the thread does not wait for all of it. @module */

/** Resolves at once, or if a piece of work has become long, after other waiting work. */
export type GiveWay = () => Promise<void>;

/** How long a piece of work lasts, in milliseconds. */
const PIECE_MS = 8;

export function makeGiveWay(): GiveWay {
  let startedAt = performance.now();
  return async () => {
    if (performance.now() - startedAt < PIECE_MS) return;
    await Bun.sleep(0);
    startedAt = performance.now();
  };
}
