/** A push from a project's folder: evaluates the schema, sends it, waits for other pushes, writes journal and types. @module */
import type { Definition } from "../../schema/mod.ts";
import type { Status } from "../../tables/history/status.ts";
import type { Setting } from "../command.ts";
import { type Confirm, listDropped } from "./confirm.ts";
import { type PushSteps, planHistory, pushHistory } from "./history.ts";
import { listJournalFiles } from "./journal.ts";
import {
  type Project,
  type ProjectOptions,
  type WrittenFiles,
  withProject,
  writeProject,
} from "./project.ts";
import type { Pushed } from "./schema_service.ts";
import { agree, listShared, warnOfSharing } from "./sharing.ts";
import { checkUncommitted } from "./uncommitted.ts";

export type PushTask = ProjectOptions & {
  dryRun: boolean;
  /** The tables of other apps that the app may start to use; default: every table. */
  share: readonly string[] | undefined;
  confirm?: Confirm | undefined;
  /** Runs before the push. Throws to stop it; returns the steps that a plan has first. */
  prepare?: (project: Project) => Promise<PushSteps>;
};
export type ProjectPush = WrittenFiles & {
  definition: Definition;
  result: Pushed;
  /** The journal's missing files; a dry run does not write them. */
  missing: string[];
};

/** Pushes a project's schema and writes its files, or with `dryRun` returns the plan. */
export async function pushProject(setting: Setting, task: PushTask): Promise<ProjectPush> {
  const { dryRun, share, confirm } = task;
  return await withProject(setting, task, async (project) => {
    const { definition, location, tables, missing, ahead } = project;
    await checkUncommitted(project);
    const first = await task.prepare?.(project);
    const history = { ...project, share, ...(first && { first }) };
    if (dryRun) {
      const result = await planHistory(history);
      const lacked = listJournalFiles(location, missing);
      return { result, definition, types: undefined, files: [], missing: lacked };
    }
    const dropped = listDropped(ahead);
    const isAsked =
      confirm !== undefined &&
      (confirm.isForAll || dropped.length > 0 || hasNewTable(definition, tables));
    const agreed = isAsked
      ? await agree(() => planHistory(history), { ask: (plan) => confirm.ask(plan, dropped) })
      : share;
    const result = await pushHistory({ ...history, share: agreed });
    if (!isAsked) warnOfSharing(setting.terminal, listShared(result));
    return { result, definition, ...(await writeProject(project, result)), missing: [] };
  });
}

/** Only a table that the app has not pushed before can become shared. */
function hasNewTable(definition: Definition, pushed: Status["tables"]): boolean {
  return definition.tables.some(({ name }) => !pushed.some((table) => table.name === name));
}
