/** A project and the service of its destination: opened for a push, and its files written after it. @module */

import { join } from "node:path";
import type { Definition } from "../../schema/mod.ts";
import type { Config } from "../../settings/mod.ts";
import type { Status } from "../../tables/history/status.ts";
import type { Setting } from "../command.ts";
import { checkStaysInside } from "../project_file.ts";
import { evaluateSchema, findSchemaFile } from "./evaluate.ts";
import {
  type CheckedJournal,
  checkJournalFiles,
  fetchMigrations,
  findJournalFolder,
  type JournalLocation,
  writeJournalFiles,
} from "./journal.ts";
import type { Pushed, SchemaService } from "./schema_service.ts";
import { type Destination, withService } from "./service.ts";
import { TYPES_FILE, writeTypes } from "./types.ts";
import { makePatient } from "./wait.ts";

export type Project = Pick<Setting, "terminal"> &
  CheckedJournal & {
    /** The schema's file, and what it declares. */
    file: string;
    definition: Definition;
    location: JournalLocation;
    service: SchemaService;
    /** The app's pushed tables. */
    tables: Status["tables"];
  };

export type ProjectOptions = {
  destination: Destination;
  config: Config;
  /** Max seconds to wait for other pushes. */
  waitS: number;
  mayDiverge?: boolean;
  /** The evaluated schema, if it is known. */
  definition?: Definition;
};

/**
 * Evaluates the schema and compares the migration files with the service, then runs a task.
 *
 * @throws {RejectedError} the schema or a migration file has errors
 */
export async function withProject<Result>(
  setting: Setting,
  { destination, config, waitS, mayDiverge, ...known }: ProjectOptions,
  task: (project: Project) => Promise<Result>,
): Promise<Result> {
  const { folder, terminal } = setting;
  const file = findSchemaFile(setting);
  const definition = known.definition ?? (await evaluateSchema(setting, file));
  const journal = findJournalFolder(setting, file, destination);
  const location = { folder, journal, destination };
  // Before anything is sent.
  for (const path of [join(journal ?? folder, "0001"), TYPES_FILE]) checkStaysInside(folder, path);
  return await withService(destination, { config, terminal }, async (impatient) => {
    const service = makePatient(impatient, { waitS, terminal });
    const { migrations, tables } = await service.status();
    const checked = await checkJournalFiles(location, migrations, { mayDiverge });
    return await task({ terminal, file, definition, location, service, tables, ...checked });
  });
}

export type WrittenFiles = {
  /** The path of the types, if they were written. */
  types: string | undefined;
  /** The journal's files that were written. */
  files: string[];
};

/** Writes files after the COMMIT: after a crash in between, the next push writes the missing files. */
export async function writeProject(
  { terminal, file, definition, location, service, missing }: Project,
  { migration }: Pick<Pushed, "migration">,
): Promise<WrittenFiles> {
  const restored = await fetchMigrations(service, missing);
  const created = migration === null ? [] : [migration];
  const files = await writeJournalFiles(location, [...restored, ...created]);
  const tables = definition.tables.map(({ name }) => name);
  return { files, types: writeTypes({ folder: location.folder, terminal, file, tables }) };
}
