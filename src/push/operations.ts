/** What the endpoints of push say of themselves, beside their routes. @module */
import { QUOTAS } from "../dsl/mod.ts";
import type { JsonSchema, Operation } from "../http/mod.ts";
import type { ProblemCode } from "../problem.ts";
import { MAX_MIGRATIONS } from "./journal.ts";
import { MAX_PLANNED } from "./limits.ts";

/** An object with these properties, all of which are there unless `optional` names them. */
function toObject(properties: Record<string, JsonSchema>, optional: string[] = []) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required };
}

function text(description: string): JsonSchema {
  return { type: "string", description };
}

function listOf(items: JsonSchema, description: string): JsonSchema {
  return { type: "array", items, description };
}

const TEXT: JsonSchema = { type: "string" };
const CHECKSUM: JsonSchema = {
  type: "string",
  pattern: "^sha256:[0-9a-f]{64}$",
  description: "SHA-256 of the migration's file and of the checksum before it.",
};
const SEQ: JsonSchema = {
  type: "integer",
  minimum: 1,
  maximum: MAX_MIGRATIONS,
  description: "The number of the migration: an app's first one is 1.",
};
const RECORD = {
  seq: SEQ,
  name: text("What it does, in short, such as `add_column_todos_note`."),
  parent: text("The checksum of the migration before it; empty for the first one."),
  checksum: CHECKSUM,
};
const TEXT_OF_FILE = text(
  "The migration's file, as `rowhouse db push` writes it to `schema/migrations/`.",
);
const MIGRATION = toObject({
  ...RECORD,
  text: TEXT_OF_FILE,
  sql: text("The SQL that runs at this service."),
});
/** What a migration joins, with these fields of each. */
function joinsOf(fields: Record<string, JsonSchema>): JsonSchema {
  return {
    anyOf: [{ type: "array", items: toObject(fields) }, { type: "null" }],
    description:
      "Where histories had diverged: the project's migrations that this one joins, which count as applied from here on; otherwise null.",
  };
}
const STORED_MIGRATION = toObject({
  ...MIGRATION.properties,
  joins: joinsOf({ ...RECORD, text: TEXT_OF_FILE }),
});
const DEFINITION: JsonSchema = {
  type: "object",
  description: "A schema as plain data, as `rowhouse db push` compiles it from TypeScript.",
  properties: {
    version: { const: 1, description: "The version of this format." },
    tables: listOf(
      { type: "object" },
      "The tables, each with its `name`, `columns`, `indexes` and `uniques`.",
    ),
  },
  required: ["version", "tables"],
};
const DRY_RUN: JsonSchema = {
  type: "boolean",
  description:
    "`true`: only return what would be done, and change nothing. The scope `schema:read` suffices for this.",
};
const STEPS = listOf(
  TEXT,
  "Each change, for people, such as `add column todos.note`. Where `(rows are checked)` follows, existing rows may prevent it.",
);
const NOTES = listOf(
  TEXT,
  "What else a person should know, such as `KEPT: todos.note is no longer declared; it is kept and still served`.",
);
const SHARE: JsonSchema = {
  ...listOf(
    TEXT,
    "The tables of other apps that the app may start to use: a table that is not in this list is a conflict. Without the list, every table is allowed.",
  ),
  maxItems: QUOTAS.tables,
};
const SHARED = listOf(TEXT, "The tables of other apps that the app starts to use.");
const RESULT = toObject({
  status: {
    type: "string",
    enum: ["applied", "unchanged", "planned"],
    description:
      "`applied`: the changes are made. `unchanged`: there was nothing to do. `planned`: a dry run found changes.",
  },
  migration: {
    anyOf: [MIGRATION, { type: "null" }],
    description: "The migration that records the changes, or would; null where there are none.",
  },
  steps: STEPS,
  notes: NOTES,
  shared: SHARED,
});
const CHANGED = toObject({
  ...RESULT.properties,
  rows: {
    ...toObject({
      rows: { type: "integer", description: "Rows of this app in the table." },
      values: { type: "integer", description: "Rows of them that the change is about." },
    }),
    description: "Rows before the change.",
  },
});
const JOURNAL: JsonSchema = {
  ...listOf(
    toObject({ seq: SEQ, checksum: CHECKSUM }),
    "The migrations that the project has as files. If one of them is not as the service has applied it, the push is refused. Without a journal nothing is compared.",
  ),
  maxItems: MAX_MIGRATIONS,
};
const CHANGE = {
  ...toObject(
    {
      kind: {
        type: "string",
        enum: [
          "rename_column",
          "rename_table",
          "drop_column",
          "drop_table",
          "drop_value",
          "retype_column",
        ],
        description: "What to do.",
      },
      table: text("The table."),
      column: text("Its column."),
      to: text("The new name."),
      value: text("The value of the enum that is dropped."),
      type: {
        type: "object",
        description: "The new type: `kind`, the `values` of an enum, and a `default`.",
      },
    },
    ["column", "to", "value", "type"],
  ),
  description: "What to change. Only the app that owns the table can change it.",
};
const HISTORY = toObject(
  {
    ...RESULT.properties,
    replays: listOf(
      toObject({
        migration: { ...toObject(RECORD), description: "The migration, without its SQL." },
        steps: STEPS,
        notes: NOTES,
        shared: SHARED,
      }),
      "Of a dry run: what each of the migrations would do. The fields beside it tell what would follow them.",
    ),
  },
  ["replays"],
);
const DEFERRED_STEP = toObject({
  table: text("The table it is on."),
  kind: {
    type: "string",
    enum: ["index", "reference"],
    description: "`index`: an index is built. `reference`: the rows of a reference are checked.",
  },
  name: text("The name of the index or constraint in PostgreSQL."),
  columns: listOf(TEXT, "The columns it is over."),
  state: {
    type: "string",
    enum: ["waiting", "running", "done", "failed"],
    description:
      "`waiting`: not begun, or interrupted. `failed`: existing rows do not fit. Both are tried again after the next push.",
  },
  fault: {
    type: ["string", "null"],
    description: "Why the last attempt did not succeed; null if nothing is known to be wrong.",
  },
  attempts: { type: "integer", description: "How often it was begun." },
});
const STATUS = toObject({
  app: text("The name of the key's app."),
  tables: listOf(
    toObject({
      name: text("The name of the table."),
      owned: {
        type: "boolean",
        description: "Whether this app owns the table, because it pushed the name first.",
      },
    }),
    "The tables that the app has declared.",
  ),
  migrations: listOf(
    toObject({ ...RECORD, joins: joinsOf(RECORD) }),
    "The app's migrations, oldest first, by their place at this service.",
  ),
  deferredSteps: listOf(
    DEFERRED_STEP,
    "What pushes left for afterwards: builds on large or shared tables, which stay in use meanwhile.",
  ),
});

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
    summary: "Make the database match a schema, or plan it",
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
    answers: [{ status: 200, when: "What was done, or would be.", bodies: [RESULT] }],
    problems: PUSHES,
  },
  change: {
    id: "change_schema",
    group: "schema",
    summary: "Rename, drop or retype a part of a table, or plan it",
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
    answers: [{ status: 200, when: "What was done, or would be.", bodies: [CHANGED] }],
    problems: PUSHES,
  },
  join: {
    id: "join_histories",
    group: "schema",
    summary: "Go on from the history of the project where histories have diverged, or plan it",
    bodies: [
      toObject(
        {
          migrations: {
            ...listOf(
              TEXT,
              "The files of the project's migrations after the last one that both sides have, oldest first.",
            ),
            minItems: 1,
            maxItems: MAX_MIGRATIONS,
          },
          definition: {
            ...DEFINITION,
            description: "What the project declares now, as plain data.",
          },
          declared: {
            ...DEFINITION,
            description:
              "What the project's migrations and its schema declare, and have declared before. Afterwards the app has exactly this at the service.",
          },
          dryRun: DRY_RUN,
          share: SHARE,
        },
        ["dryRun", "share"],
      ),
    ],
    answers: [{ status: 200, when: "What was done, or would be.", bodies: [RESULT] }],
    problems: PUSHES,
  },
  status: {
    id: "get_schema",
    group: "schema",
    summary: "Get what the app has declared and which migrations made it so",
    answers: [{ status: 200, when: "What is recorded of the app.", bodies: [STATUS] }],
    problems: COMMON,
  },
  migration: {
    id: "get_migration",
    group: "schema",
    summary: "Get a migration with its SQL",
    parameters: [
      { in: "path", name: "seq", description: "The number of the migration.", schema: SEQ },
    ],
    answers: [{ status: 200, when: "The migration.", bodies: [STORED_MIGRATION] }],
    problems: [...COMMON, "invalid_id", "not_found"],
  },
  replay: {
    id: "apply_migration",
    group: "schema",
    summary: "Apply a migration of the project that this service lacks, or plan several",
    bodies: [
      toObject(
        {
          migrations: {
            ...listOf(
              TEXT,
              `The files of migrations, oldest first: the next one to apply, or up to ${MAX_PLANNED} for a dry run.`,
            ),
            minItems: 1,
            maxItems: MAX_PLANNED,
          },
          definition: {
            ...DEFINITION,
            description: "What the project declares now, as plain data.",
          },
          dryRun: DRY_RUN,
          share: SHARE,
        },
        ["dryRun", "share"],
      ),
    ],
    answers: [{ status: 200, when: "What was done, or would be of each.", bodies: [HISTORY] }],
    problems: PUSHES,
  },
} as const satisfies Record<string, Operation>;
