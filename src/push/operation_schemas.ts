/** JSON Schemas of the bodies of push endpoints. @module */
import { QUOTAS } from "../dsl/mod.ts";
import type { JsonSchema } from "../http/mod.ts";
import { MAX_MIGRATIONS } from "./journal.ts";

/** An object schema. All properties are required except those in `optional`. */
export function toObject(properties: Record<string, JsonSchema>, optional: string[] = []) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required };
}

function text(description: string): JsonSchema {
  return { type: "string", description };
}

export function listOf(items: JsonSchema, description: string): JsonSchema {
  return { type: "array", items, description };
}

export const TEXT: JsonSchema = { type: "string" };
const CHECKSUM: JsonSchema = {
  type: "string",
  pattern: "^sha256:[0-9a-f]{64}$",
  description: "SHA-256 of the migration's file and of the checksum before it.",
};
export const SEQ: JsonSchema = {
  type: "integer",
  minimum: 1,
  maximum: MAX_MIGRATIONS,
  description: "The number of the migration. An app's first migration is 1.",
};
const RECORD = {
  seq: SEQ,
  name: text("A short description of the migration, such as `add_column_todos_note`."),
  parent: text("The checksum of the previous migration; empty for the first migration."),
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
/** The migrations that a migration joins, with these fields each. */
function joinsOf(fields: Record<string, JsonSchema>): JsonSchema {
  return {
    anyOf: [{ type: "array", items: toObject(fields) }, { type: "null" }],
    description:
      "If histories had diverged: the project's migrations that this migration joins and marks as applied. Otherwise null.",
  };
}
export const STORED_MIGRATION = toObject({
  ...MIGRATION.properties,
  joins: joinsOf({ ...RECORD, text: TEXT_OF_FILE }),
});
export const DEFINITION: JsonSchema = {
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
export const DRY_RUN: JsonSchema = {
  type: "boolean",
  description:
    "`true`: return the planned changes without applying them. Requires only the scope `schema:read`.",
};
const STEPS = listOf(
  TEXT,
  "Each change in readable form, such as `add column todos.note`. A change marked `(rows are checked)` fails if existing rows violate it.",
);
const NOTES = listOf(
  TEXT,
  "Notices about the push, such as `KEPT: todos.note is no longer declared; it is kept and still served`.",
);
export const SHARE: JsonSchema = {
  ...listOf(
    TEXT,
    "The tables of other apps that this app may start to use. A table outside this list is a conflict. Without the list, every table is allowed.",
  ),
  maxItems: QUOTAS.tables,
};
const SHARED = listOf(TEXT, "The tables of other apps that the app starts to use.");
export const RESULT = toObject({
  status: {
    type: "string",
    enum: ["applied", "unchanged", "planned"],
    description:
      "`applied`: the changes were applied. `unchanged`: the database already matches the schema. `planned`: a dry run found changes.",
  },
  migration: {
    anyOf: [MIGRATION, { type: "null" }],
    description:
      "The migration that records the changes, or would record them; null if there are none.",
  },
  steps: STEPS,
  notes: NOTES,
  shared: SHARED,
});
export const CHANGED = toObject({
  ...RESULT.properties,
  rows: {
    anyOf: [
      toObject({
        rows: { type: "integer", description: "Rows of this app in the table." },
        values: { type: "integer", description: "Rows that the change affects." },
      }),
      { type: "null" },
    ],
    description:
      "Rows before the change. Null if the key lacks the scope `data:read`, or if the count exceeds the time limit.",
  },
});
export const JOURNAL: JsonSchema = {
  ...listOf(
    toObject({ seq: SEQ, checksum: CHECKSUM }),
    "The migration files of the project. The push fails if a file differs from the migration that the service applied. Without a journal, files are not compared.",
  ),
  maxItems: MAX_MIGRATIONS,
};
export const CHANGE = {
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
        description: "The type of change.",
      },
      table: text("The table."),
      column: text("The column of the table."),
      to: text("The new name."),
      value: text("The enum value to drop."),
      type: {
        type: "object",
        description: "The new type: `kind`, the `values` of an enum, and a `default`.",
      },
    },
    ["column", "to", "value", "type"],
  ),
  description:
    "The change. Only the app that owns the table can change it. A change that deletes values (`drop_column`, `drop_table`, and `retype_column` if the values cannot be converted back) requires the scope `schema:drop` too.",
};
export const HISTORY = toObject(
  {
    ...RESULT.properties,
    replays: listOf(
      toObject({
        migration: { ...toObject(RECORD), description: "The migration, without its SQL." },
        steps: STEPS,
        notes: NOTES,
        shared: SHARED,
      }),
      "For a dry run: the effect of each migration. The other fields describe the changes after the last migration.",
    ),
  },
  ["replays"],
);
const DEFERRED_STEP = toObject({
  table: text("The table of the step."),
  kind: {
    type: "string",
    enum: ["index", "reference"],
    description: "`index`: builds an index. `reference`: checks the rows of a reference.",
  },
  name: text("The name of the index or constraint in PostgreSQL."),
  columns: listOf(TEXT, "The columns of the index or constraint."),
  state: {
    type: "string",
    enum: ["waiting", "running", "done", "failed"],
    description:
      "`waiting`: not started, or interrupted. `failed`: existing rows violate the constraint. Both are retried after the next push.",
  },
  fault: {
    type: ["string", "null"],
    description: "Why the last attempt failed; null if no error is known.",
  },
  attempts: { type: "integer", description: "The number of attempts." },
});
export const STATUS = toObject({
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
    "The app's migrations at this service, oldest first.",
  ),
  deferredSteps: listOf(
    DEFERRED_STEP,
    "The deferred steps of pushes: builds on large or shared tables, which remain in use during the build.",
  ),
});
