/** The operating system's account for the servers of a test. @module */
import { execFileSync } from "node:child_process";

/** Returns the account `nobody` if the tests run as root: PostgreSQL and PgBouncer do not run as root. */
export function findAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const read = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: read("-u"), gid: read("-g") };
}
