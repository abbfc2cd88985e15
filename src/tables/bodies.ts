/** The bodies of push: schemas of requests and responses, from which their types and their documentation derive. @module */
import * as v from "valibot";
import { checkRules, type Definition, QUOTAS, readDefinition } from "../schema/mod.ts";
import { MAX_MIGRATIONS } from "./history/journal.ts";
import { kind, listOf, only } from "./issues.ts";
import { MAX_MIGRATIONS_SENT } from "./limits.ts";
import { ChangeBody, toPath } from "./read_change.ts";

const Count = v.pipe(v.number(), v.integer());
const Texts = v.array(v.string());
const Checksum = v.pipe(
  v.string(),
  v.regex(/^sha256:[0-9a-f]{64}$/, "Must be sha256: and 64 hexadecimal digits"),
  v.description("SHA-256 of the migration's file and of the checksum before it."),
);
const RANGE = `Must be a whole number from 1 to ${MAX_MIGRATIONS}`;
const Seq = v.pipe(
  v.number(),
  v.integer(RANGE),
  v.minValue(1, RANGE),
  v.maxValue(MAX_MIGRATIONS, RANGE),
  v.description("The number of the migration. An app's first migration is 1."),
);

/** A definition in its normal form: names and defaults reach DDL only through this schema. */
function definition(about: string, { checksRules }: { checksRules: boolean }) {
  return v.pipe(
    v.unknown() as v.GenericSchema<Definition, unknown>,
    v.metadata({
      type: "object",
      description: about,
      properties: {
        version: { const: 1, description: "The version of this format." },
        tables: {
          type: "array",
          items: { type: "object" },
          description: "The tables, each with its `name`, `columns`, `indexes` and `uniques`.",
        },
      },
      required: ["version", "tables"],
    }),
    v.rawTransform<unknown, Definition>(({ dataset, addIssue, NEVER }) => {
      const read = readDefinition(dataset.value);
      const issues =
        "issues" in read ? read.issues : checksRules ? checkRules(read.definition) : [];
      if ("definition" in read && issues.length === 0) return read.definition;
      for (const { table, column, message } of issues) {
        const names = [table, column].filter((name) => name !== undefined);
        addIssue({ message, path: toPath(dataset.value, names) });
      }
      return NEVER;
    }),
  );
}

const DEFINE = only({
  kind: kind("define", "Declares the app's schema."),
  definition: definition(
    "The schema as plain data, as `rowhouse db push` compiles it from TypeScript. Rules that give people more rights require the scope `schema:rules` too.",
    { checksRules: true },
  ),
});
const CHANGE = only({
  kind: kind("change", "Renames, drops or retypes a part of a table."),
  change: ChangeBody,
});
const MIGRATION = only({
  kind: kind("migration", "Applies the project's next migration, unless it was applied before."),
  text: v.pipe(
    v.string(),
    v.description(
      "The migration's file. A migration that deletes values requires the scope `schema:drop` too, and one whose rules give people more rights `schema:rules`.",
    ),
  ),
  followed: v.optional(
    v.pipe(
      v.boolean(),
      v.description(
        "`true`: the project's schema has changed since. Tables of other apps are then used as a later step declares.",
      ),
    ),
  ),
});
const JOIN = only({
  kind: kind("join", "Joins diverged histories, and continues the project's history."),
  migrations: v.pipe(
    listOf(v.string(), MAX_MIGRATIONS_SENT),
    v.minLength(1, "Must not be empty"),
    v.description(
      "The files of the project's migrations after the last common migration, oldest first.",
    ),
  ),
  definition: definition("The project's current schema.", { checksRules: true }),
  declared: definition(
    "Everything that the project's migrations and schema declare now or declared before. After the join, the app has exactly this schema at the service.",
    // A column that is no longer declared can make a membership ambiguous. The app gets the rules of its current schema.
    { checksRules: false },
  ),
});

/** Enough for the project's migrations and its schema. */
export const MAX_STEPS = MAX_MIGRATIONS_SENT + 1;

export const PushBody = only({
  steps: v.pipe(
    listOf(v.variant("kind", [DEFINE, CHANGE, MIGRATION, JOIN]), MAX_STEPS),
    v.minLength(1, "Must not be empty"),
    v.description(
      `One step; with \`dryRun\` up to ${MAX_STEPS}, each planned after those before it.`,
    ),
  ),
  journal: v.optional(
    v.pipe(
      listOf(only({ seq: Seq, checksum: Checksum }), MAX_MIGRATIONS),
      v.description(
        "The migration files of the project. The push fails if a file differs from the migration that the service applied. Without a journal, files are not compared.",
      ),
    ),
  ),
  dryRun: v.optional(
    v.pipe(
      v.boolean(),
      v.description(
        "`true`: return the planned changes without applying them. Requires only the scope `schema:read`.",
      ),
    ),
  ),
  share: v.optional(
    v.pipe(
      listOf(v.string(), QUOTAS.tables),
      v.description(
        "The tables of other apps that this app may start to use. A table outside this list is a conflict. Without the list, every table is allowed.",
      ),
    ),
  ),
});
export type PushBody = Sent<v.InferInput<typeof PushBody>>;
type Sent<Body> = { readonly [Field in keyof Body]: SentList<Body[Field]> };
type SentList<Value> = Value extends (infer Item)[] ? readonly Item[] : Value;

const RECORD = {
  seq: Seq,
  name: v.pipe(
    v.string(),
    v.description("A short description of the migration, such as `add_column_todos_note`."),
  ),
  parent: v.pipe(
    v.string(),
    v.description("The checksum of the previous migration; empty for the first migration."),
  ),
  checksum: Checksum,
};
const TEXT = v.pipe(
  v.string(),
  v.description("The migration's file, as `rowhouse db push` writes it to `schema/migrations/`."),
);
const APPLIED = {
  ...RECORD,
  text: TEXT,
  sql: v.pipe(v.string(), v.description("The SQL that runs at this service.")),
};

const PLANNED = {
  steps: v.pipe(
    Texts,
    v.description(
      "Each change in readable form, such as `add column todos.note`. A change marked `(rows are checked)` fails if existing rows violate it.",
    ),
  ),
  notes: v.pipe(
    Texts,
    v.description(
      "Notices about the push, such as `KEPT: todos.note is no longer declared; it is kept and still served`.",
    ),
  ),
  shared: v.pipe(Texts, v.description("The tables of other apps that the app starts to use.")),
  rows: v.pipe(
    v.nullable(
      v.object({
        rows: v.pipe(Count, v.description("Rows of this app in the table.")),
        values: v.pipe(Count, v.description("Rows that the change affects.")),
      }),
    ),
    v.description(
      "For a `change`: the rows before it. Null for other steps, after an earlier step, if the key lacks the scope `data:read`, or if the count exceeds the time limit.",
    ),
  ),
};

export const PushedBody = v.object({
  status: v.pipe(
    v.picklist(["applied", "unchanged", "planned"]),
    v.description(
      "`applied`: the changes were applied. `unchanged`: the database already matches the steps. `planned`: a dry run found changes.",
    ),
  ),
  migration: v.pipe(
    v.nullable(v.object(APPLIED)),
    v.description(
      "The migration that records the changes of the last step, or would record them; null without changes.",
    ),
  ),
  ...PLANNED,
  earlier: v.pipe(
    v.array(
      v.object({
        migration: v.pipe(
          v.nullable(v.object(RECORD)),
          v.description("The migration, without its text and SQL; null if nothing changes."),
        ),
        ...PLANNED,
      }),
    ),
    v.description("For a dry run of several steps: the effect of each step before the last."),
  ),
});

/** The migrations that a migration joins, with these fields each. */
function joinsOf<Fields extends v.ObjectEntries>(fields: Fields) {
  return v.pipe(
    v.nullable(v.array(v.object(fields))),
    v.description(
      "If histories had diverged: the project's migrations that this migration joins and marks as applied. Otherwise null.",
    ),
  );
}

export const MigrationBody = v.object({ ...APPLIED, joins: joinsOf({ ...RECORD, text: TEXT }) });

const DEFERRED_STEP = v.object({
  table: v.pipe(v.string(), v.description("The table of the step.")),
  kind: v.pipe(
    v.picklist(["index", "reference"]),
    v.description("`index`: builds an index. `reference`: checks the rows of a reference."),
  ),
  name: v.pipe(v.string(), v.description("The name of the index or constraint in PostgreSQL.")),
  columns: v.pipe(Texts, v.description("The columns of the index or constraint.")),
  state: v.pipe(
    v.picklist(["waiting", "running", "done", "failed"]),
    v.description(
      "`waiting`: not started, or interrupted. `failed`: existing rows violate the constraint. Both are retried after the next push.",
    ),
  ),
  fault: v.pipe(
    v.nullable(v.string()),
    v.description("Why the last attempt failed; null if no error is known."),
  ),
  attempts: v.pipe(Count, v.description("The number of attempts.")),
});

const STATUS_TABLE = {
  name: v.pipe(v.string(), v.description("The name of the table.")),
  owned: v.pipe(
    v.boolean(),
    v.description("Whether this app owns the table, because it pushed the name first."),
  ),
};

function listTables<Fields extends v.ObjectEntries>(fields: Fields) {
  return v.pipe(v.array(v.object(fields)), v.description("The tables that the app has declared."));
}

export const StatusBody = v.object({
  app: v.pipe(v.string(), v.description("The name of the key's app.")),
  tables: listTables(STATUS_TABLE),
  migrations: v.pipe(
    v.array(v.object({ ...RECORD, joins: joinsOf(RECORD) })),
    v.description("The app's migrations at this service, oldest first."),
  ),
  deferredSteps: v.pipe(
    v.array(DEFERRED_STEP),
    v.description(
      "The deferred steps of pushes: builds on large or shared tables, which remain in use during the build.",
    ),
  ),
});

const RULES = v.array(
  v.object({
    role: v.pipe(v.string(), v.description("The role on the app.")),
    rights: v.pipe(
      v.string(),
      v.description(
        "What people with the role may do, such as `read rows where owner is the person; never creates, changes or deletes`.",
      ),
    ),
  }),
);

export const RuledStatusBody = v.object({
  ...StatusBody.entries,
  tables: listTables({
    ...STATUS_TABLE,
    rules: v.optional(
      v.pipe(RULES, v.description("The rights of people, by role; absent without rules.")),
    ),
  }),
});
