/** The patterns of `like` and `ilike`: `*` matches any characters. With `\` before it, a `*` or `\` matches itself. @module */

/**
 * The texts between the wildcards of a pattern, one more than its wildcards.
 *
 * @example
 * ```ts
 * expect(splitPattern("*5\\*3*")).toEqual(["", "5*3", ""]);
 * expect(splitPattern("C:\\Users")).toEqual(["C:\\Users"]);
 * ```
 */
export function splitPattern(pattern: string): string[] {
  const parts = [""];
  for (const [token, escaped] of pattern.matchAll(/\*|\\([*\\])|[^*\\]+|\\/g)) {
    if (token === "*") parts.push("");
    else parts.push((parts.pop() ?? "") + (escaped ?? token));
  }
  return parts;
}

/**
 * A pattern that matches only this text, also if it contains `*`.
 *
 * @example
 * ```ts
 * expect(escapePattern("5*3")).toBe("5\\*3");
 * ```
 */
export function escapePattern(text: string): string {
  return text.replaceAll(/[*\\]/g, "\\$&");
}
