/** Descriptions of the push endpoints. @module */
import type { Operation } from "../http/mod.ts";
import type { ProblemCode } from "../problem.ts";
import { MigrationBody, PushBody, PushedBody, StatusBody } from "./bodies.ts";
import { MAX_MIGRATIONS } from "./history/journal.ts";

const COMMON = [
  "invalid_query",
  "unsupported_query",
  "overloaded",
  "timeout",
] as const satisfies readonly ProblemCode[];

export const OPERATIONS = {
  push: {
    id: "push_schema",
    group: "schema",
    summary: "Push a schema, a change or a migration, or plan it",
    bodies: [PushBody],
    responses: [{ status: 200, when: "The applied or planned changes.", bodies: [PushedBody] }],
    problems: [
      ...COMMON,
      "unsupported_media_type",
      "body_too_large",
      "invalid_json",
      "invalid_schema",
      "incompatible_schema",
      "edited_migration",
      "diverged_history",
      "push_busy",
      "journal_full",
    ],
  },
  status: {
    id: "get_schema",
    group: "schema",
    summary: "Get the app's tables, migrations and deferred steps",
    responses: [{ status: 200, when: "The recorded state of the app.", bodies: [StatusBody] }],
    problems: COMMON,
  },
  migration: {
    id: "get_migration",
    group: "schema",
    summary: "Get a migration with its SQL",
    parameters: [
      {
        in: "path",
        name: "seq",
        description: "The number of the migration.",
        schema: { type: "integer", minimum: 1, maximum: MAX_MIGRATIONS },
      },
    ],
    responses: [{ status: 200, when: "The migration.", bodies: [MigrationBody] }],
    problems: [...COMMON, "invalid_id", "not_found"],
  },
} satisfies Record<string, Operation>;
