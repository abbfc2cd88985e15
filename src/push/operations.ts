/** What the endpoints of push say of themselves, beside their routes. @module */
import type { JsonSchema, Operation } from "../http/mod.ts";
import type { ProblemCode } from "../problem.ts";
import { MAX_MIGRATIONS } from "./journal.ts";

const TEXT: JsonSchema = { type: "string" };
const CHECKSUM: JsonSchema = { type: "string", pattern: "^sha256:[0-9a-f]{64}$" };
const SEQ: JsonSchema = { type: "integer", minimum: 1, maximum: MAX_MIGRATIONS };
const TEXTS: JsonSchema = { type: "array", items: TEXT };

/** An object with these properties, all of which are there unless `optional` names them. */
function toObject(properties: Record<string, JsonSchema>, optional: string[] = []) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required };
}

const RECORD = { seq: SEQ, name: TEXT, parent: TEXT, checksum: CHECKSUM };
const MIGRATION = toObject({ ...RECORD, text: TEXT, sql: TEXT });
const DEFINITION: JsonSchema = {
  type: "object",
  description: "A schema as plain data, as `rowhouse db push` compiles it from TypeScript.",
  properties: { version: { const: 1 }, tables: { type: "array", items: { type: "object" } } },
  required: ["version", "tables"],
};
const RESULT = toObject({
  status: { type: "string", enum: ["applied", "unchanged", "planned"] },
  migration: { anyOf: [MIGRATION, { type: "null" }] },
  steps: TEXTS,
  notes: TEXTS,
});
const HISTORY = toObject(
  {
    ...RESULT.properties,
    replays: {
      type: "array",
      items: toObject({ migration: toObject(RECORD), steps: TEXTS, notes: TEXTS }),
    },
  },
  ["replays"],
);
const STATUS = toObject({
  app: TEXT,
  tables: { type: "array", items: toObject({ name: TEXT, owned: { type: "boolean" } }) },
  migrations: { type: "array", items: toObject(RECORD) },
  deferredSteps: {
    type: "array",
    items: toObject({
      table: TEXT,
      kind: { type: "string", enum: ["index", "reference"] },
      name: TEXT,
      columns: TEXTS,
      state: { type: "string", enum: ["waiting", "running", "done", "failed"] },
      fault: { type: ["string", "null"] },
      attempts: { type: "integer" },
    }),
  },
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
          journal: {
            type: "array",
            maxItems: MAX_MIGRATIONS,
            items: toObject({ seq: SEQ, checksum: CHECKSUM }),
          },
          dryRun: { type: "boolean" },
        },
        ["journal", "dryRun"],
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
    parameters: [{ in: "path", name: "seq", description: "Its number.", schema: SEQ }],
    answers: [{ status: 200, when: "The migration.", bodies: [MIGRATION] }],
    problems: [...COMMON, "invalid_id", "not_found"],
  },
  replay: {
    id: "apply_migration",
    group: "schema",
    summary: "Apply a migration of the project that this service lacks, or plan several",
    bodies: [
      toObject(
        {
          migrations: { type: "array", minItems: 1, items: TEXT },
          definition: DEFINITION,
          dryRun: { type: "boolean" },
        },
        ["dryRun"],
      ),
    ],
    answers: [{ status: 200, when: "What was done, or would be of each.", bodies: [HISTORY] }],
    problems: PUSHES,
  },
} as const satisfies Record<string, Operation>;
