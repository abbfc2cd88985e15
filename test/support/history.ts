/** A project's history without the service that it was made at: a service reads only the definitions in it. @module */
import { writeMigrationText } from "../../src/push/migration_text.ts";
import { definitionOf, type TestApp, type TestResponse, type TestService } from "./service.ts";

/** The files of a project that pushed these schemas, one after another. */
export function makeHistory(schemas: readonly unknown[], sql = "-- made elsewhere\n"): string[] {
  let parent = "";
  return schemas.map((schema, index) => {
    const head = { seq: index + 1, name: `step_${index + 1}`, parent, steps: [], sql };
    const { checksum, text } = writeMigrationText({ ...head, definition: definitionOf(schema) });
    parent = checksum;
    return text;
  });
}

/** Applies the migration with this text, or with `dryRun` plans all of them; `now` is what the project declares. */
export function postMigrations(
  { service, app }: { service: TestService; app: TestApp },
  migrations: unknown,
  now: unknown,
  more: Record<string, unknown> = {},
): Promise<TestResponse> {
  const json = { migrations, definition: definitionOf(now), ...more };
  return service.call(app, "/v1/data/schema/migrations", { method: "POST", json });
}
