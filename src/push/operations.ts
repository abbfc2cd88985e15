/** Descriptions of the push endpoints. @module */
import type { JsonSchema, Operation } from "../http/mod.ts";
import type { ProblemCode } from "../problem.ts";
import { MAX_MIGRATIONS_SENT } from "./limits.ts";
import {
  CHANGE,
  CHANGED,
  DEFINITION,
  DRY_RUN,
  HISTORY,
  JOURNAL,
  listOf,
  RESULT,
  SEQ,
  SHARE,
  STATUS,
  STORED_MIGRATION,
  TEXT,
  toObject,
} from "./operation_schemas.ts";

const COMMON = [
  "invalid_query",
  "unsupported_query",
  "overloaded",
  "timeout",
] as const satisfies readonly ProblemCode[];
const PUSHES = [
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
] as const satisfies readonly ProblemCode[];

type PushOperation = Pick<Operation, "id" | "summary"> & {
  body: Record<string, JsonSchema>;
  /** Default: the changes. */
  when?: string;
  result: JsonSchema;
};

/** A request that changes the schema, or plans the change. */
function describePush({ id, summary, body, when = CHANGES, result }: PushOperation): Operation {
  return {
    id,
    group: "schema",
    summary,
    bodies: [toObject(body, ["journal", "dryRun", "share"])],
    responses: [{ status: 200, when, bodies: [result] }],
    problems: PUSHES,
  };
}

const CHANGES = "The applied or planned changes.";
const OPTIONS = { dryRun: DRY_RUN, share: SHARE };
const PROJECT_DEFINITION = {
  ...DEFINITION,
  description: "The project's current schema, as plain data.",
};

function filesOf(description: string, maxItems: number): JsonSchema {
  return { ...listOf(TEXT, description), minItems: 1, maxItems };
}

export const OPERATIONS = {
  push: describePush({
    id: "push_schema",
    summary: "Push a schema, or plan the push",
    body: { definition: DEFINITION, journal: JOURNAL, ...OPTIONS },
    result: RESULT,
  }),
  change: describePush({
    id: "change_schema",
    summary: "Rename, drop or retype a part of a table, or plan the change",
    body: { change: CHANGE, journal: JOURNAL, dryRun: DRY_RUN },
    result: CHANGED,
  }),
  join: describePush({
    id: "join_histories",
    summary: "Join diverged histories and continue the project's history, or plan the join",
    body: {
      migrations: filesOf(
        "The files of the project's migrations after the last common migration, oldest first.",
        MAX_MIGRATIONS_SENT,
      ),
      definition: PROJECT_DEFINITION,
      declared: {
        ...DEFINITION,
        description:
          "Everything that the project's migrations and schema declare now or declared before. After the join, the app has exactly this schema at the service.",
      },
      ...OPTIONS,
    },
    result: RESULT,
  }),
  status: {
    id: "get_schema",
    group: "schema",
    summary: "Get the app's tables, migrations and deferred steps",
    responses: [{ status: 200, when: "The recorded state of the app.", bodies: [STATUS] }],
    problems: COMMON,
  },
  migration: {
    id: "get_migration",
    group: "schema",
    summary: "Get a migration with its SQL",
    parameters: [
      { in: "path", name: "seq", description: "The number of the migration.", schema: SEQ },
    ],
    responses: [{ status: 200, when: "The migration.", bodies: [STORED_MIGRATION] }],
    problems: [...COMMON, "invalid_id", "not_found"],
  },
  replay: describePush({
    id: "apply_migration",
    summary: "Apply a migration of the project that this service has not applied, or plan several",
    body: {
      migrations: filesOf(
        `The migration files, oldest first: the next migration to apply, or up to ${MAX_MIGRATIONS_SENT} for a dry run. A migration that deletes values requires the scope \`schema:drop\` too.`,
        MAX_MIGRATIONS_SENT,
      ),
      definition: PROJECT_DEFINITION,
      ...OPTIONS,
    },
    when: "The applied changes, or the planned changes of each migration.",
    result: HISTORY,
  }),
} satisfies Record<string, Operation>;
