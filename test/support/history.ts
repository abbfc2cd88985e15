/** Creates a project's migration history without a service. A service reads only the definitions in the history. @module */

import type { Definition } from "../../src/schema/mod.ts";
import { canonicalJson } from "../../src/std/json.ts";
import { splitMigrationText, writeMigrationText } from "../../src/tables/history/migration_text.ts";
import type { Change } from "../../src/tables/mod.ts";
import { postSteps } from "./push.ts";
import { definitionOf, type TestApp, type TestResponse, type TestService } from "./service.ts";

/** Returns the migration files of a project that pushed these schemas in this order; `changes`: explicit changes by number. */
export function makeHistory(
  schemas: readonly unknown[],
  { sql = "-- made elsewhere\n", changes = {} }: HistoryOptions = {},
): string[] {
  let parent = "";
  return schemas.map((schema, index) => {
    const seq = index + 1;
    const head = { seq, name: `step_${seq}`, parent, steps: [], change: changes[seq], sql };
    const { checksum, text } = writeMigrationText({ ...head, definition: definitionOf(schema) });
    parent = checksum;
    return text;
  });
}

type HistoryOptions = { sql?: string; changes?: Readonly<Record<number, Change>> };

/**
 * Applies these migrations, or plans them and the project's declared schema `current` with `dryRun`.
 */
export function postMigrations(
  { service, app }: { service: TestService; app: TestApp },
  migrations: readonly string[],
  current: unknown,
  more: Record<string, unknown> = {},
): Promise<TestResponse> {
  const definition = definitionOf(current);
  const steps = [
    ...migrations.map((text) => toStep(text, definition)),
    ...(more["dryRun"] === true ? [{ kind: "define", definition }] : []),
  ];
  return postSteps(service, app, steps, more);
}

function toStep(text: string, current: Definition) {
  const followed = splitMigrationText(text)?.definition !== canonicalJson(current);
  return { kind: "migration", text, followed };
}
