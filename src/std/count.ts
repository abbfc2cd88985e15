/** A count with its noun. @module */

/**
 * The count and the noun, in the form that the count needs.
 *
 * @example
 * ```ts
 * expect([showCount(1, "row"), showCount(0, "row")]).toEqual(["1 row", "0 rows"]);
 * expect(showCount(2, "index", "indexes")).toBe("2 indexes");
 * ```
 */
export function showCount(
  count: number | string,
  singular: string,
  plural = `${singular}s`,
): string {
  return `${count} ${Number(count) === 1 ? singular : plural}`;
}

/** A number with a separator of thousands, such as 20,001. */
export function inDigits(count: number): string {
  return count.toLocaleString("en");
}
