/** Files that are whole or not there: written beside their place, then renamed. @module */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Writes a file in one step for every reader; its folder is made when missing. */
export function writeAtomically(path: string, text: string, options: { mode?: number } = {}): void {
  mkdirSync(dirname(path), { recursive: true });
  const beside = `${path}.${process.pid}.tmp`;
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
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
