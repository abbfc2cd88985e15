/** Files that are whole or not there: written beside their place, then renamed. @module */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorCode } from "./error_code.ts";

/**
 * Writes a file in one step for every reader, and to the disk before it takes its place; its folder is made when
 * missing.
 *
 * @example
 * ```ts
 * import { readIfThere, writeAtomically } from "./files.ts";
 * import { expect } from "bun:test";
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 *
 * const file = join(mkdtempSync(join(tmpdir(), "files-")), "folder", "file.txt");
 * expect(readIfThere(file)).toBeUndefined();
 * writeAtomically(file, "text", { mode: 0o600 });
 * expect(readIfThere(file)).toBe("text");
 * ```
 */
export function writeAtomically(path: string, text: string, options: { mode?: number } = {}): void {
  mkdirSync(dirname(path), { recursive: true });
  const beside = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  writeFileSync(beside, text, { mode: options.mode ?? 0o644, flush: true });
  renameSync(beside, path);
}

/** Writes a file unless it has that text already; whether it wrote. */
export function writeIfChanged(path: string, text: string): boolean {
  if (readIfThere(path) === text) return false;
  writeAtomically(path, text);
  return true;
}

/** The text of a file, or `undefined` where there is none. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

const TEMPORARY = /^\.[^/]*\.(\d+)\.tmp$/;

/** Whether a name is that of a file whose writing was cut off: its process, which the name tells, is no more. */
export function isLeftover(name: string): boolean {
  const writer = TEMPORARY.exec(name)?.[1];
  if (writer === undefined || Number(writer) === process.pid) return false;
  try {
    process.kill(Number(writer), 0);
    return false;
  } catch {
    return true; // no such process
  }
}
