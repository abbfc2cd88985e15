/** An explicit change of a project: checks the schema file, shows the plan, asks, applies the change, writes files. @module */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Definition } from "../../dsl/mod.ts";
import { Problem } from "../../problem.ts";
import { type Change, showChange } from "../../push/pure.ts";
import { canonicalJson } from "../../std/canonical_json.ts";
import { EXIT, RejectedError, type Setting } from "../cli/command.ts";
import { showCount } from "../cli/terminal.ts";
import { findEdit } from "./change_schema.ts";
import { type History, planHistory, pushHistory } from "./history.ts";
import { type Project, type WrittenFiles, withProject, writeProject } from "./project.ts";
import type { PushTask } from "./push.ts";
import type { Pushed as PushResponse } from "./schema_service.ts";
import { type Destination, withDestination } from "./service.ts";

export type ChangeTask = Omit<PushTask, "confirm"> & {
  /** The requested change, for the project's definition. */
  toChange: (definition: Definition) => Change;
  /** Shows the plan and asks for confirmation. */
  confirm: (plan: PushResponse, change: Change) => Promise<void>;
};
export type Changed = WrittenFiles & { result: PushResponse };

/**
 * Applies a change, or with `dryRun` returns its plan. If the project already has the migration of the change, from another
 * service, applies that migration.
 *
 * @throws {RejectedError} the schema file does not declare the result yet, or the service lacks earlier migrations
 */
export async function changeProject(setting: Setting, task: ChangeTask): Promise<Changed> {
  return await withProject(setting, task, async (project) => {
    const { definition, ahead } = project;
    const change = task.toChange(definition);
    const notEdited = findNotEdited(change, project);
    const last = ahead.at(-1);
    const steps =
      last === undefined
        ? changeSingle(change, project)
        : replayChange(change, task.destination, {
            ...project,
            share: task.share,
            definition: JSON.parse(last.parts.definition) as Definition,
          });
    const plan = await steps.plan().catch((error: unknown) => {
      // Without the edit, a plan can lack the values of an enum. The service's rejection of the change comes first.
      const isRejected = error instanceof Problem && error.code === "incompatible_schema";
      throw isRejected ? error : (notEdited ?? error);
    });
    if (notEdited !== undefined) throw notEdited;
    if (task.dryRun) return { result: plan, types: undefined, files: [] };
    if (plan.status !== "unchanged") await task.confirm(plan, change);
    const result = plan.status === "unchanged" ? plan : await steps.run();
    return { result, ...(await writeProject(project, result)) };
  });
}

/** The error if the schema file does not declare the result yet. */
function findNotEdited(change: Change, { definition, file, location: { folder } }: Project) {
  const location = relative(folder, file);
  const edit = findEdit(change, { definition, location, text: readFileSync(file, "utf8") });
  if (edit === undefined) return undefined;
  return new RejectedError(
    `Cannot ${showChange(change)} yet: ${edit}, then run the command again`,
    EXIT.rejected,
    { code: "schema_not_edited" },
  );
}

type Steps = { plan: () => Promise<PushResponse>; run: () => Promise<PushResponse> };

function changeSingle(change: Change, { service, entries: journal }: Project): Steps {
  const push = (dryRun: boolean) =>
    service.push({ steps: [{ kind: "change", change }], journal, dryRun });
  return { plan: () => push(true), run: () => push(false) };
}

/** The steps that apply the project's migrations, if the change is one of them. */
function replayChange(change: Change, destination: Destination, history: History): Steps {
  const asked = canonicalJson(change);
  if (history.ahead.some(({ parts }) => parts.change === asked))
    return { plan: () => planHistory(history), run: () => pushHistory(history) };
  throw new RejectedError(
    `The service lacks ${showCount(history.ahead.length, "migration")} of this project: run ${withDestination("rowhouse db push", destination)} first`,
  );
}
