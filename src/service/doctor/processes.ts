/** The doctor's checks of versions: this program, and the processes that use the database. @module */

import { call, type Database, RELEASE_TEXT, type Result } from "../../db/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { PROCESS_SILENT_S } from "../../std/limits.ts";
import { type CheckResult, pass, warn } from "./check_result.ts";

/** Processes of one version; null for an earlier release, which does not report it. */
type Running = Result<"running_versions">[number];

/** Reads what each process adds with its statistics, so it costs requests nothing and works behind any pooler. */
export async function checkProcesses(db: Database): Promise<CheckResult> {
  return evaluateProcesses(await call(db, "running_versions", {}));
}

/** A rolling upgrade has two versions for a while; it is not finished until there is one, that of this command. */
export function evaluateProcesses(running: readonly Running[]): CheckResult {
  const about = "processes";
  const others = running.filter(({ version }) => version !== RELEASE_TEXT);
  const list = running.map(describe).join(", ");
  if (running.length === 0) return pass(about, "none has reported to this database recently");
  if (others.length === 0) return pass(about, list);
  const isMixed = running.length > 1;
  return warn(about, {
    message: isMixed
      ? `of different versions run: ${list}`
      : `run another version than this command: ${list}`,
    remedy: `this command is ${RELEASE_TEXT}: restart the processes with the version that they should have, and run its doctor. A killed process is listed for ${toDurationText(PROCESS_SILENT_S)}`,
  });
}

function describe({ version, processes, since }: Running): string {
  const count = `${processes} ${processes === 1 ? "process" : "processes"}`;
  const name = version ?? "an earlier version, which does not report itself";
  return `${count} of ${name}, since ${since.toISOString().slice(0, 19)}Z`;
}
