/** Creates a project's migration history without a service. A service reads only the definitions in the history. @module */
import { writeMigrationText } from "../../src/push/migration_text.ts";
import { definitionOf, type TestApp, type TestResponse, type TestService } from "./service.ts";

/** Returns the migration files of a project that pushed these schemas in this order. */
export function makeHistory(schemas: readonly unknown[], sql = "-- made elsewhere\n"): string[] {
  let parent = "";
  return schemas.map((schema, index) => {
    const head = { seq: index + 1, name: `step_${index + 1}`, parent, steps: [], sql };
    const { checksum, text } = writeMigrationText({ ...head, definition: definitionOf(schema) });
    parent = checksum;
    return text;
  });
}

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
