/** Where servers of the tests keep their files. @module */
import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Enough for the clusters of all workers of a run, a few hundred MB each. */
const MEMORY_BYTES = 4 * 1024 ** 3;

/** Returns a folder in memory if there is enough space: to create databases on a disk needs several times as long. */
export function findFastFolder(): string {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= MEMORY_BYTES ? memory : tmpdir();
}
