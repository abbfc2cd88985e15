/** Asynchronous work on many items, with limited concurrency. @module */

/**
 * The results for all items in order, with at most `width` in progress.
 *
 * @throws the first error of `run`; items that have not begun by then are skipped
 * @example
 * ```ts
 * expect(await mapBounded([1, 2, 3], 2, async (item) => item * 10)).toEqual([10, 20, 30]);
 * ```
 */
export async function mapBounded<Item, Result>(
  items: readonly Item[],
  width: number,
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  // Unlike `entries()`, a generator ends for all workers when the loop of one throws.
  const left = (function* () {
    yield* items.entries();
  })();
  const work = async () => {
    for (const [position, item] of left) results[position] = await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, work));
  return results;
}
