/** The response of the record of an app: a schema, from which its documentation derives. @module */
import * as v from "valibot";
import { Count, joinsOf, RECORD, Texts } from "./bodies.ts";

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

export const StatusBody = v.object({
  app: v.pipe(v.string(), v.description("The name of the key's app.")),
  tables: v.pipe(
    v.array(v.object(STATUS_TABLE)),
    v.description("The tables that the app has declared."),
  ),
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
  tables: v.pipe(
    v.array(
      v.object({
        ...STATUS_TABLE,
        rules: v.optional(
          v.pipe(RULES, v.description("The rights of people, by role; absent without rules.")),
        ),
      }),
    ),
    v.description("The tables that the app has declared."),
  ),
});
