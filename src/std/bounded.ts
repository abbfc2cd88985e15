/** Bounded memory and concurrency: a map that evicts its oldest entries, and work on many items. @module */

/**
 * A map that, when full, evicts the entry that was set the longest ago.
 *
 * @example
 * ```ts
 * const map = new BoundedMap<string, number>(2);
 * map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
 * expect([...map]).toEqual([["a", 3], ["c", 4]]);
 * ```
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #maxSize: number;

  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    if (this.size >= this.#maxSize)
      for (const oldest of this.keys()) {
        this.delete(oldest);
        break;
      }
    return super.set(key, value);
  }
}

// Asynchronous work on many items, with limited concurrency.

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
