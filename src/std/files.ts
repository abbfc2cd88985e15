/** Files that are complete or absent: written under a temporary name, then renamed. @module */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { devNull } from "node:os";
import { basename, dirname, join } from "node:path";
import { errorCode } from "./network.ts";

/**
 * Replaces a file in one step: readers see either the old or the new content. Flushes the content to disk before the
 * rename, and creates a missing folder.
 *
 * @example
 * ```ts
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
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  writeFileSync(temporary, text, { mode: options.mode ?? 0o644, flush: true });
  renameSync(temporary, path);
}

/** Writes a file unless it already has that text; returns whether it wrote. */
export function writeIfChanged(path: string, text: string): boolean {
  if (readIfThere(path) === text) return false;
  writeAtomically(path, text);
  return true;
}

export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

const TEMPORARY = /^\.[^/]*\.(\d+)\.tmp$/;

/** Returns whether a name belongs to an interrupted write: the process in the name no longer exists. */
export function isLeftover(name: string): boolean {
  const writer = TEMPORARY.exec(name)?.[1];
  if (writer === undefined || Number(writer) === process.pid) return false;
  try {
    process.kill(Number(writer), 0);
    return false;
  } catch (error) {
    // EPERM: another user runs the process.
    return errorCode(error) === "ESRCH";
  }
}

// Bun's flag for a process that does not read the folder's bunfig.toml.

/**
 * Keeps a `preload` in that file from running in a process that holds secrets.
 *
 * @example
 * ```ts
 * const { stdout } = Bun.spawnSync([process.execPath, NO_BUNFIG, "--version"]);
 * expect(stdout.toString().trim()).toBe(Bun.version);
 * ```
 */
export const NO_BUNFIG = `--config=${devNull}`;
