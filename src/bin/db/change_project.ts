/** An explicit change of a project: checks the schema file, shows the plan, asks, applies the change, writes files. @module */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Definition } from "../../dsl/mod.ts";
import { Problem } from "../../problem.ts";
import { type Change, type RowCounts, showChange } from "../../push/pure.ts";
import { canonicalJson } from "../../std/canonical_json.ts";
import { EXIT, RejectedError, type Setting } from "../cli/command.ts";
import { openLog } from "../cli/log.ts";
import { showCount } from "../cli/terminal.ts";
import { findEdit } from "./change_schema.ts";
import { evaluateSchema, findSchemaFile } from "./evaluate.ts";
import { type History, planHistory, pushHistory } from "./history.ts";
import {
  checkJournalFiles,
  fetchMigrations,
  findJournalFolder,
  removeJournalFiles,
  writeJournalFiles,
} from "./journal.ts";
import { makePatient } from "./patience.ts";
import type { Pushed, PushTask } from "./push.ts";
import type { Pushed as PushResponse } from "./schema_service.ts";
import { type Destination, withDestination, withService } from "./service.ts";
import { writeTypes } from "./types.ts";

export type ChangeResponse = PushResponse & { rows?: RowCounts };
export type ChangeTask = Omit<PushTask, "confirm"> & {
  /** The requested change, for the project's definition. */
  toChange: (definition: Definition) => Change;
  /** Shows the plan and asks for confirmation. */
  confirm: (plan: ChangeResponse, change: Change) => Promise<void>;
};
export type Changed = Pick<Pushed, "types" | "files"> & { result: ChangeResponse };

/**
 * Applies a change, or with `dryRun` returns its plan. If the project already has the migration of the change, from another
 * service, applies that migration.
 *
 * @throws {RejectedError} the schema file does not declare the result yet, or the service lacks earlier migrations
 */
export async function changeProject(setting: Setting, task: ChangeTask): Promise<Changed> {
  const { folder, terminal } = setting;
  const { destination, config, dryRun } = task;
  const file = findSchemaFile(setting);
  const definition = await evaluateSchema(setting, file);
  const change = task.toChange(definition);
  const notEdited = findNotEdited(change, { definition, file, folder });
  const journal = findJournalFolder(setting, file, destination);
  return await withService(destination, config, async (impatient) => {
    const service = makePatient(impatient, { ...task, terminal });
    const { migrations } = await service.status();
    const { entries, missing, ahead, stale } = await checkJournalFiles(
      { folder, journal, destination },
      migrations,
    );
    const last = ahead.at(-1);
    const steps =
      last === undefined
        ? changeSingle({ service, change, entries, log: openLog(config, terminal.warn) })
        : replayChange(change, destination, {
            ...{ service, entries, ahead, share: task.share, config, terminal },
            definition: JSON.parse(last.parts.definition) as Definition,
          });
    const plan = await steps.plan().catch((error: unknown) => {
      // Without the edit, a plan can lack the values of an enum. The service's rejection of the change comes first.
      const isRejected = error instanceof Problem && error.code === "incompatible_schema";
      throw isRejected ? error : (notEdited ?? error);
    });
    if (notEdited !== undefined) throw notEdited;
    if (dryRun) return { result: plan, types: undefined, files: [] };
    if (plan.status !== "unchanged") await task.confirm(plan, change);
    const result = plan.status === "unchanged" ? plan : await steps.run();
    await removeJournalFiles(journal, stale);
    const created = result.migration === null ? [] : [result.migration];
    const restored = await fetchMigrations(service, missing);
    const files = await writeJournalFiles({ folder, journal }, [...restored, ...created]);
    const tables = definition.tables.map(({ name }) => name);
    return { result, types: writeTypes({ folder, file, tables, terminal }), files };
  });
}

type Edited = { definition: Definition; file: string; folder: string };

/** The error if the schema file does not declare the result yet. */
function findNotEdited(change: Change, { definition, file, folder }: Edited) {
  const location = relative(folder, file);
  const edit = findEdit(change, { definition, location, text: readFileSync(file, "utf8") });
  if (edit === undefined) return undefined;
  return new RejectedError(
    `Cannot ${showChange(change)} yet: ${edit}, then run the command again`,
    EXIT.rejected,
    { code: "schema_not_edited" },
  );
}

type Steps = { plan: () => Promise<ChangeResponse>; run: () => Promise<ChangeResponse> };

function changeSingle({
  service,
  change,
  entries: journal,
  log,
}: Pick<History, "service" | "entries"> & {
  change: Change;
  log: ReturnType<typeof openLog>;
}): Steps {
  return {
    plan: () => service.change({ change, journal, dryRun: true }, log),
    run: () => service.change({ change, journal, dryRun: false }, log),
  };
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
