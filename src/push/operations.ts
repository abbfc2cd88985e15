/** Descriptions of the push endpoints. @module */
import type { Operation } from "../http/mod.ts";
import type { ProblemCode } from "../problem.ts";
import { MAX_MIGRATIONS } from "./journal.ts";
import { MAX_PLANNED } from "./limits.ts";
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
  "unknown_outcome",
] as const satisfies readonly ProblemCode[];

export const OPERATIONS = {
  push: {
    id: "push_schema",
    group: "schema",
    summary: "Push a schema, or plan the push",
    bodies: [
      toObject(
        {
          definition: DEFINITION,
          journal: JOURNAL,
          dryRun: DRY_RUN,
          share: SHARE,
        },
        ["journal", "dryRun", "share"],
      ),
    ],
    responses: [{ status: 200, when: "The applied or planned changes.", bodies: [RESULT] }],
    problems: PUSHES,
  },
  change: {
    id: "change_schema",
    group: "schema",
    summary: "Rename, drop or retype a part of a table, or plan the change",
    bodies: [
      toObject(
        {
          change: CHANGE,
          journal: JOURNAL,
          dryRun: DRY_RUN,
        },
        ["journal", "dryRun"],
      ),
    ],
    responses: [{ status: 200, when: "The applied or planned changes.", bodies: [CHANGED] }],
    problems: PUSHES,
  },
  join: {
    id: "join_histories",
    group: "schema",
    summary: "Join diverged histories and continue the project's history, or plan the join",
    bodies: [
      toObject(
        {
          migrations: {
            ...listOf(
              TEXT,
              "The files of the project's migrations after the last common migration, oldest first.",
            ),
            minItems: 1,
            maxItems: MAX_MIGRATIONS,
          },
          definition: {
            ...DEFINITION,
            description: "The project's current schema, as plain data.",
          },
          declared: {
            ...DEFINITION,
            description:
              "Everything that the project's migrations and schema declare now or declared before. After the join, the app has exactly this schema at the service.",
          },
          dryRun: DRY_RUN,
          share: SHARE,
        },
        ["dryRun", "share"],
      ),
    ],
    responses: [{ status: 200, when: "The applied or planned changes.", bodies: [RESULT] }],
    problems: PUSHES,
  },
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
  replay: {
    id: "apply_migration",
    group: "schema",
    summary: "Apply a migration of the project that this service has not applied, or plan several",
    bodies: [
      toObject(
        {
          migrations: {
            ...listOf(
              TEXT,
              `The migration files, oldest first: the next migration to apply, or up to ${MAX_PLANNED} for a dry run.`,
            ),
            minItems: 1,
            maxItems: MAX_PLANNED,
          },
          definition: {
            ...DEFINITION,
            description: "The project's current schema, as plain data.",
          },
          dryRun: DRY_RUN,
          share: SHARE,
        },
        ["dryRun", "share"],
      ),
    ],
    responses: [
      {
        status: 200,
        when: "The applied changes, or the planned changes of each migration.",
        bodies: [HISTORY],
      },
    ],
    problems: PUSHES,
  },
} as const satisfies Record<string, Operation>;
