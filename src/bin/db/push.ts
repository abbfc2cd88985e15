/** A push from a project's folder: evaluates the schema, sends it, waits for other pushes, writes journal and types. @module */
import type { Config } from "../../config/mod.ts";
import type { Definition } from "../../dsl/mod.ts";
import type { Status } from "../../push/pure.ts";
import type { Setting } from "../cli/command.ts";
import { type Confirm, listDropped } from "./confirm.ts";
import { evaluateSchema, findSchemaFile } from "./evaluate.ts";
import { planHistory, pushHistory } from "./history.ts";
import {
  checkJournalFiles,
  fetchMigrations,
  findJournalFolder,
  listJournalFiles,
  removeJournalFiles,
  writeJournalFiles,
} from "./journal.ts";
import { makePatient } from "./patience.ts";
import type { Pushed as PushResponse } from "./schema_service.ts";
import { type Destination, withService } from "./service.ts";
import { agree, listShared, warnOfSharing } from "./sharing.ts";
import { writeTypes } from "./types.ts";

export type PushTask = {
  destination: Destination;
  config: Config;
  dryRun: boolean;
  waitS: number;
  /** The tables of other apps that the app may start to use; default: every table. */
  share: readonly string[] | undefined;
  confirm?: Confirm | undefined;
  /** Throws to stop the push. `plan` is a dry run. */
  check?: (definition: Definition, plan: () => Promise<PushResponse>) => Promise<void>;
};
export type Pushed = {
  definition: Definition;
  result: PushResponse;
  /** The path of the types, if they were written. */
  types: string | undefined;
  /** The journal's files that were written. */
  files: string[];
  /** The journal's missing files; a dry run does not write them. */
  missing: string[];
};

/**
 * Pushes a project's schema, or with `dryRun` returns the plan. Files are written after the COMMIT: after a crash in between, the
 * next push writes the missing files.
 */
export async function pushProject(setting: Setting, task: PushTask): Promise<Pushed> {
  const { folder, terminal } = setting;
  const { destination, config, dryRun } = task;
  const file = findSchemaFile(setting);
  const definition = await evaluateSchema(setting, file);
  const journal = findJournalFolder(setting, file, destination);
  const location = { folder, journal, destination };
  return await withService(destination, config, async (impatient) => {
    const service = makePatient(impatient, { ...task, terminal });
    const { migrations, tables } = await service.status();
    const { entries, missing, ahead, stale } = await checkJournalFiles(location, migrations);
    const { share, confirm } = task;
    const history = { service, definition, entries, ahead, share, config, terminal };
    if (dryRun) {
      const result = await planHistory(history);
      // Files of another database of `dev` will be replaced, so none is missing.
      const lacked = stale.length === 0 ? listJournalFiles(location, missing) : [];
      return { result, definition, types: undefined, files: [], missing: lacked };
    }
    await task.check?.(definition, () => planHistory(history));
    const dropped = listDropped(ahead);
    const isAsked =
      confirm !== undefined &&
      (confirm.isForAll || dropped.length > 0 || hasNewTable(definition, tables));
    const agreed = isAsked
      ? await agree(() => planHistory(history), { ask: (plan) => confirm.ask(plan, dropped) })
      : share;
    const result = await pushHistory({ ...history, share: agreed });
    if (!isAsked) warnOfSharing(terminal, listShared(result));
    await removeJournalFiles(journal, stale);
    const created = result.migration === null ? [] : [result.migration];
    const restored = await fetchMigrations(service, missing);
    const files = await writeJournalFiles(location, [...restored, ...created]);
    const types = writeTypes({ folder, terminal, file, tables: toNames(definition) });
    return { result, definition, types, files, missing: [] };
  });
}

/** Only a table that the app has not pushed before can become shared. */
function hasNewTable(definition: Definition, pushed: Status["tables"]): boolean {
  return toNames(definition).some((name) => !pushed.some((table) => table.name === name));
}

function toNames(definition: Definition): string[] {
  return definition.tables.map(({ name }) => name);
}
