/** The version of this release. @module */
import manifest from "../../package.json" with { type: "json" };

export const VERSION: string = manifest.version;

/**
 * Negative if `left` is the earlier version, 0 if both are the same. Compares numbers, not what follows a hyphen.
 *
 * @example
 * ```ts
 * import { compareVersions } from "./version.ts";
 * import { expect } from "bun:test";
 *
 * expect(compareVersions("0.9.0", "0.10.0")).toBeLessThan(0);
 * expect(compareVersions("1.0.0", "1.0.0")).toBe(0);
 * ```
 */
export function compareVersions(left: string, right: string): number {
  const [ours, theirs] = [left, right].map((text) => (text.split("-")[0] ?? "").split("."));
  for (const [index, part] of (ours ?? []).entries()) {
    const difference = Number(part) - Number(theirs?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
