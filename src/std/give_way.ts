/** Long work in pieces, so that other work of the thread does not wait for all of it. @module */

/** Resolves at once, or if a piece of work has become long, after other waiting work. */
export type GiveWay = () => Promise<void>;

/** How long a piece of work lasts, in milliseconds. */
const PIECE_MS = 8;

/**
 * Returns a function to call after each piece.
 *
 * @example
 * ```ts
 * const giveWay = makeGiveWay();
 * let sum = 0;
 * for (const piece of [1, 2, 3]) {
 *   sum += piece;
 *   await giveWay();
 * }
 * expect(sum).toBe(6);
 * ```
 */
export function makeGiveWay(): GiveWay {
  let startedAt = performance.now();
  return async () => {
    if (performance.now() - startedAt < PIECE_MS) return;
    await Bun.sleep(0);
    startedAt = performance.now();
  };
}

/** Work that yields after each piece. */
export type InPieces<Result> = Generator<void, Result>;

/** Does the work at once. */
export function finish<Result>(work: InPieces<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Does the work, and gives way between its pieces. */
export async function finishInPieces<Result>(work: InPieces<Result>): Promise<Result> {
  const giveWay = makeGiveWay();
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await giveWay();
  }
}
