/** Creates a project's migration history without a service. A service reads only the definitions in the history. @module */

import { writeMigrationText } from "../../src/push/migration_text.ts";
import type { Change } from "../../src/push/mod.ts";
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

/** Applies these migrations, or plans them with `dryRun`. `current` is the project's declared schema. */
export function postMigrations(
  { service, app }: { service: TestService; app: TestApp },
  migrations: unknown,
  current: unknown,
  more: Record<string, unknown> = {},
): Promise<TestResponse> {
  const json = { migrations, definition: definitionOf(current), ...more };
  return service.call(app, "/v1/data/schema/migrations", { method: "POST", json });
}
