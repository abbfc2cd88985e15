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
