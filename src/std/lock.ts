/** A lock of a path that the operating system releases when the process ends. @module */
import { Database, SQLiteError } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";

export type Lock = { readonly release: () => void };

/**
 * The lock of a path, or `undefined` while it is taken.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 *
 * const path = join(mkdtempSync(join(tmpdir(), "lock-")), "lock");
 * const lock = acquireLock(path);
 * expect(acquireLock(path)).toBeUndefined();
 * lock?.release();
 * expect(acquireLock(path)).toBeDefined();
 * ```
 */
export function acquireLock(path: string): Lock | undefined {
  mkdirSync(dirname(path), { recursive: true });
  // SQLite's exclusive transaction is a kernel lock: unlike a file with a pid, it cannot go stale.
  const file = new Database(path);
  try {
    file.run("pragma busy_timeout = 0");
    file.run("pragma journal_mode = memory");
    file.run("begin exclusive");
    return { release: () => file.close() };
  } catch (error) {
    file.close();
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY")) return undefined;
    throw error;
  }
}
