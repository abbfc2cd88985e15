/** Finds an item of a list that another item may have replaced. Pure. @module */
import type { Named } from "./names.ts";

/**
 * The only removed and the only added item, if they have the same description; `undefined` otherwise.
 *
 * @example
 * ```ts
 * const [before, after] = [[{ name: "titel" }, { name: "done" }], [{ name: "title" }, { name: "done" }]];
 * expect(findReplaced(before, after, () => "text")).toEqual({ removed: { name: "titel" }, added: { name: "title" } });
 * ```
 */
export function findReplaced<Item extends Named>(
  before: readonly Item[],
  after: readonly Item[],
  describe: (item: Item) => string,
): { removed: Item; added: Item } | undefined {
  const findOthers = (items: readonly Item[], than: readonly Item[]) =>
    items.filter(({ name }) => !than.some((other) => other.name === name));
  const [removed, ...moreRemoved] = findOthers(before, after);
  const [added, ...moreAdded] = findOthers(after, before);
  if (removed === undefined || added === undefined) return undefined;
  if (moreRemoved.length > 0 || moreAdded.length > 0) return undefined;
  return describe(removed) === describe(added) ? { removed, added } : undefined;
}
