/** One push from a project's folder: evaluate, send, wait while another one is under way, write journal and types. @module */
import type { Config, Environment } from "../../config.ts";
import type { Definition } from "../../dsl/mod.ts";
import { Problem } from "../../problem.ts";
import { EXIT, RefusedError, type Terminal } from "../cli/command.ts";
import { openLog } from "../cli/open.ts";
import type { Confirm } from "./confirm.ts";
import { evaluateSchema, findSchemaFile } from "./evaluate.ts";
import {
  checkJournalFiles,
  fetchMigrations,
  findJournalFolder,
  writeJournalFiles,
} from "./journal.ts";
import {
  type Destination,
  type Pushed as PushAnswer,
  type PushRequest,
  type SchemaService,
  withService,
} from "./service.ts";
import { writeTypes } from "./types.ts";

export type Project = {
  folder: string;
  /** As typed after `--schema`. */
  schema: string | undefined;
  /** As typed after `--journal`. */
  journal?: string | undefined;
  env: Environment;
  terminal: Terminal;
};
export type PushTask = {
  destination: Destination;
  config: Config;
  dryRun: boolean;
  waitS: number;
  /** Is told the plan before anything is pushed, and may refuse it. */
  confirm?: Confirm | undefined;
};
export type Pushed = {
  definition: Definition;
  result: PushAnswer;
  /** The types' path, where they were written. */
  types: string | undefined;
  /** The journal's files that were written. */
  files: string[];
};

/**
 * Pushes a project's schema, or with `dryRun` says what that would do. Files are written only after the COMMIT: if a crash
 * comes in between, the next push writes the missing files.
 */
export async function pushProject(project: Project, task: PushTask): Promise<Pushed> {
  const file = findSchemaFile(project.folder, project.schema);
  const definition = await evaluateSchema({ ...project, file });
  const { dryRun } = task;
  const journal = findJournalFolder(
    { ...project, journal: project.journal, file },
    task.destination,
  );
  return await withService(task.destination, task.config, async (service) => {
    const { migrations } = await service.status();
    const { entries, missing } = await checkJournalFiles(journal, migrations);
    const request = {
      definition,
      journal: entries,
      dryRun,
    };
    const patience = { ...task, terminal: project.terminal };
    if (task.confirm !== undefined && !dryRun)
      await task.confirm(await pushPatiently(service, { ...request, dryRun: true }, patience));
    const result = await pushPatiently(service, request, patience);
    if (dryRun) return { result, definition, types: undefined, files: [] };
    const made = result.migration === null ? [] : [result.migration];
    const restored = await fetchMigrations(service, missing);
    const files = await writeJournalFiles({ ...project, journal }, [...restored, ...made]);
    const types = writeTypes({ ...project, file, tables: toNames(definition) });
    return { result, definition, types, files };
  });
}

function toNames(definition: Definition): string[] {
  return definition.tables.map(({ name }) => name);
}

const POLL_LEAST_MS = 200;
const POLL_SPREAD_MS = 600;

/** Asks again while the service is busy with another push, or the app has used up its pushes. */
async function pushPatiently(
  service: SchemaService,
  request: PushRequest,
  { waitS, config, terminal }: PushTask & { terminal: Terminal },
): Promise<PushAnswer> {
  let isTold = false;
  const log = openLog(config, terminal.warn);
  const deadline = performance.now() + waitS * 1000;
  for (;;) {
    try {
      return await service.push(request, log);
    } catch (error) {
      const wait = readWait(error);
      if (wait === undefined) throw error;
      if (performance.now() + wait.ms > deadline) throw wait.isOver(waitS);
      if (!isTold) terminal.warn(`Waiting: ${wait.why}`);
      isTold = true;
      await Bun.sleep(wait.ms);
    }
  }
}

type Wait = { ms: number; why: string; isOver: (waitS: number) => Error };

/** How to wait after a refusal; `undefined` if waiting does not help. */
function readWait(error: unknown): Wait | undefined {
  if (!(error instanceof Problem)) return undefined;
  if (error.code === "rate_limited") {
    const ms = Number(error.headers["retry-after"] ?? Number.NaN) * 1000;
    return Number.isNaN(ms) ? undefined : { ms, why: error.message, isOver: () => error };
  }
  if (error.code !== "push_busy") return undefined;
  return {
    // Waiting commands must not retry in step.
    ms: POLL_LEAST_MS + Math.random() * POLL_SPREAD_MS,
    why: "another push is under way, or the tables are in use",
    isOver: (waitS) =>
      new RefusedError(
        `Another push is still under way after ${waitS} s: try again, or wait longer with --wait`,
        EXIT.refused,
        { code: "push_busy" },
      ),
  };
}
