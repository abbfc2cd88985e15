/** JSON Pointers. @see https://www.rfc-editor.org/rfc/rfc6901 @module */

/**
 * A name as a part of a JSON Pointer.
 *
 * @example
 * ```ts
 * expect(escapePointer("a/b~c")).toBe("a~1b~0c");
 * ```
 */
export function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
