/** One push from a project's folder: evaluate, send, wait while another one is under way, write the types. @module */
import type { Config, Environment } from "../config.ts";
import type { Definition } from "../dsl/mod.ts";
import { Problem } from "../problem.ts";
import type { PushResult } from "../push/mod.ts";
import { RefusedError, type Terminal } from "./command.ts";
import { evaluateSchema, findSchemaFile } from "./db_evaluate.ts";
import { type Place, type PushRequest, type SchemaService, withService } from "./db_service.ts";
import { writeTypes } from "./db_types.ts";

export type Project = {
  folder: string;
  /** As typed after `--schema`. */
  schema: string | undefined;
  env: Environment;
  terminal: Terminal;
};
export type PushTask = { place: Place; config: Config; dryRun: boolean; waitS: number };
export type Pushed = {
  definition: Definition;
  result: PushResult;
  /** The types' path, where they were written. */
  types: string | undefined;
};

/** Makes a project's schema true, or with `dryRun` tells what that would do. */
export async function pushProject(project: Project, task: PushTask): Promise<Pushed> {
  const file = findSchemaFile(project.folder, project.schema);
  const definition = await evaluateSchema({ ...project, file });
  const request = { definition, journal: [], dryRun: task.dryRun };
  const result = await withService(task.place, task.config, (service) =>
    pushPatiently(service, request, task.waitS),
  );
  const types = task.dryRun
    ? undefined
    : writeTypes({ ...project, file, tables: toNames(definition) });
  return { definition, result, types };
}

function toNames(definition: Definition): string[] {
  return definition.tables.map(({ name }) => name);
}

const POLL_LEAST_MS = 200;
const POLL_SPREAD_MS = 600;

/** Asks again while the service is busy with another push: several that wait must not ask in step. */
async function pushPatiently(
  service: SchemaService,
  request: PushRequest,
  waitS: number,
): Promise<PushResult> {
  const deadline = performance.now() + waitS * 1000;
  for (;;) {
    try {
      return await service.push(request);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "push_busy") throw error;
      if (performance.now() >= deadline)
        throw new RefusedError(
          `Another push is under way, also after ${waitS} s: try again, or wait longer with --wait`,
        );
      await Bun.sleep(POLL_LEAST_MS + Math.random() * POLL_SPREAD_MS);
    }
  }
}
