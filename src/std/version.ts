/** The version of this package, and the order of versions. @module */
import manifest from "../../package.json" with { type: "json" };

export const VERSION: string = manifest.version;

const FORM = /^\d{1,6}\.\d{1,6}\.\d{1,6}(-[0-9A-Za-z.-]{1,40})?$/;

/** Whether the text of a file or a database is a version, which a message can repeat. */
export function isVersion(text: string): boolean {
  return FORM.test(text);
}

/**
 * Negative if `left` is the earlier version, 0 if both are the same. Compares numbers, not what follows a hyphen.
 *
 * @example
 * ```ts
 * expect(compareVersions("0.9.0", "0.10.0")).toBeLessThan(0);
 * expect(compareVersions("1.0.0", "1.0.0")).toBe(0);
 * ```
 */
export function compareVersions(left: string, right: string): number {
  const [ours = [], theirs = []] = [left, right].map(readParts);
  for (const [index, part] of ours.entries()) {
    const difference = part - (theirs[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function readParts(version: string): number[] {
  return (version.split("-")[0] ?? "").split(".").map(Number);
}
