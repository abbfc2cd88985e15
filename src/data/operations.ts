/** Descriptions of the data endpoints. @module */
import {
  IF_NONE_MATCH,
  NOT_MODIFIED,
  type Operation,
  type OperationParameter,
  type OperationResponse,
  TAGS_SCHEMA,
} from "../http/mod.ts";
import { AGGREGATES, type Aggregate, KINDS, VALUES } from "../kinds/mod.ts";
import type { ProblemCode } from "../problem.ts";
import { DRY_IDS, IDEMPOTENCY_HOURS, MAX_BATCH, MAX_GROUPS, MAX_ROWS } from "../std/limits.ts";
import { COUNTED } from "./bodies.ts";
import { ON_CONFLICT } from "./deps.ts";
import { GROUP_LIMITS } from "./query/group_query.ts";
import { MAX_OFFSET } from "./query/list_query.ts";
import { EXISTING_VALUES } from "./upsert.ts";

const ID: OperationParameter = {
  in: "path",
  name: "id",
  description: "The id of the row.",
  schema: { type: "string", format: "uuid" },
};
const IF_MATCH: OperationParameter = {
  in: "header",
  name: "If-Match",
  description:
    "The `ETag` of the row. If the row has changed since, the request fails and writes nothing.",
  schema: { ...TAGS_SCHEMA, examples: ["*"] },
};
const IDEMPOTENCY_KEY: OperationParameter = {
  in: "header",
  name: "Idempotency-Key",
  description: `Makes retries safe: requests with the same key within ${IDEMPOTENCY_HOURS} hours take effect once.`,
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
};
const STRICT: OperationParameter = {
  in: "header",
  name: "Prefer",
  // No example: with it, a body that fits the schema can be rejected.
  description:
    "`handling=strict`: unknown columns are errors. Without it, they are dropped, like `id` and `app_id`.",
  schema: { type: "string" },
};
const UNIQUE: OperationParameter = {
  in: "query",
  name: ON_CONFLICT,
  description:
    "A unique column, or the columns of a unique constraint, separated by commas. If a row with the same values exists, the sent columns of that row are updated. Requires `data:read` too.",
  schema: { type: "string" },
};
const EXISTING: OperationParameter = {
  in: "query",
  name: "existing",
  description:
    "With `onConflict`: `update`, as without this parameter, or `ignore`, which returns rows that exist as they are. `only` updates rows that exist, and creates none.",
  // No default: generated clients would send it without `onConflict`.
  schema: { type: "string", enum: EXISTING_VALUES },
};
const ROW: OperationResponse["bodies"] = [{ table: "row" }];

/** Error codes of every table endpoint. */
const COMMON = [
  "unknown_table",
  "not_implemented",
  "not_acceptable",
  "invalid_query",
  "unsupported_query",
  "overloaded",
  "timeout",
] as const satisfies readonly ProblemCode[];
const READS = [...COMMON, "invalid_precondition", "response_too_large"] as const;
const BODIES = [
  "invalid_precondition",
  "unsupported_media_type",
  "body_too_large",
  "invalid_json",
  "validation_failed",
  "unique_violation",
  "idempotency_mismatch",
  "idempotency_full",
] as const satisfies readonly ProblemCode[];

const LIMIT: OperationParameter = {
  in: "query",
  name: "limit",
  description: `The max number of rows. Values above ${MAX_ROWS} are reduced to ${MAX_ROWS}.`,
  schema: { type: "integer", minimum: 0, default: MAX_ROWS },
};
const OFFSET: OperationParameter = {
  in: "query",
  name: "offset",
  description: "The number of rows to skip.",
  schema: { type: "integer", minimum: 0, maximum: MAX_OFFSET, default: 0 },
};

function textParameter(name: string, description: string, example: string): OperationParameter {
  return { in: "query", name, description, schema: { type: "string", examples: [example] } };
}

/** Parameters of conditions, in addition to those with the names of columns. */
const CONDITIONS: readonly OperationParameter[] = [
  textParameter(
    "and",
    "Conditions that must all be true. To filter by one column, use a parameter with its name, such as `id=eq.` and a value.",
    "(id.not.is.null)",
  ),
  textParameter("or", "Conditions. At least one must be true.", "(id.is.null,id.not.is.null)"),
  textParameter("not.and", "Conditions. At least one must not be true.", "(id.is.null)"),
  textParameter("not.or", "Conditions. None may be true.", "(id.is.null)"),
];

/** Parameters of a list if `PREVIEW` contains `filters`. */
const OF_QUERY: readonly OperationParameter[] = [
  textParameter(
    "order",
    "Up to three columns separated by commas, each with `.asc` or `.desc`. Nulls sort last. Equal rows sort in order of creation.",
    "id.desc",
  ),
  textParameter(
    "select",
    "The columns to return, separated by commas, and related rows: a reference with columns of its row, `project(id,name)`, or a table with a reference to this one, `todos(id,title)`, which has the parameters `todos.limit` and `todos.order`.",
    "id",
  ),
  textParameter("after", "The `next` of an earlier page with the same conditions and order.", ""),
  ...CONDITIONS,
  {
    in: "header",
    name: "Prefer",
    description:
      "`count=exact` or `count=estimated`: the response includes `count`, the number of rows that match the conditions.",
    schema: { type: "string", examples: ["count=exact"] },
  },
];

/** Parameters of an update or a delete with conditions. */
const OF_WRITE: readonly OperationParameter[] = [
  {
    in: "query",
    name: "all",
    description: "Every row of the table. Conditions or `all` are required, and `data:read` too.",
    // No defaults: a generated client would send them with a list, which has no parameters.
    schema: { type: "boolean" },
  },
  {
    in: "query",
    name: "limit",
    description: `Only the first rows that match, in order of creation. Without it, more than ${MAX_ROWS.toLocaleString("en-US")} are an error.`,
    schema: { type: "integer", minimum: 1, maximum: MAX_ROWS },
  },
  {
    in: "query",
    name: "dryRun",
    description: `Writes nothing, and returns the number of rows and the first ${DRY_IDS} ids.`,
    schema: { type: "boolean" },
  },
  ...CONDITIONS,
];

const AGGREGATE_RESULTS: Readonly<Record<Aggregate, string>> = {
  sum: "The columns whose exact sum each group has, as a decimal string",
  avg: "The columns whose average each group has, as a decimal string of at least 16 significant digits",
  min: "The columns whose lowest value each group has",
  max: "The columns whose highest value each group has",
};

const OF_GROUPS: readonly OperationParameter[] = [
  {
    in: "query",
    name: "by",
    description: `Up to ${GROUP_LIMITS.by} columns, separated by commas: rows with equal values are a group, and rows without a value too. Without it, all rows are one group.`,
    schema: { type: "string" },
  },
  ...AGGREGATES.map(
    (name): OperationParameter => ({
      in: "query",
      name,
      description: `${AGGREGATE_RESULTS[name]}, separated by commas. Kinds: ${listKinds(name)}. Nulls are ignored.`,
      schema: { type: "string" },
    }),
  ),
];

function listKinds(aggregate: Aggregate): string {
  return KINDS.filter((kind) => VALUES[kind].aggregates?.includes(aggregate)).join(", ");
}

const LAST_EVENT_ID: OperationParameter = {
  in: "header",
  name: "Last-Event-ID",
  description: "The `id` of the last event that the caller has seen. The stream resumes after it.",
  schema: { type: "string", examples: ["3f1c9a02-6a0b1-1.8021:8024:8022"] },
};

const LIST = {
  id: "list",
  group: "rows",
  summary: "List rows in order of creation",
  parameters: [LIMIT, OFFSET, IF_NONE_MATCH],
  responses: [
    { status: 200, when: "A page of rows.", bodies: [{ table: "page" }], headers: ["ETag"] },
    NOT_MODIFIED,
  ],
  problems: READS,
} as const satisfies Operation;

export const OPERATIONS = {
  query: {
    id: "list",
    group: "rows",
    summary: "List rows that match conditions",
    parameters: [LIMIT, OFFSET, ...OF_QUERY, IF_NONE_MATCH],
    isFiltered: true,
    responses: [
      { status: 200, when: "A page of rows.", bodies: [{ table: "found" }], headers: ["ETag"] },
      NOT_MODIFIED,
    ],
    problems: [...READS, "needs_index"],
  },
  list: LIST,
  ruledList: { ...LIST, problems: [...READS, "needs_index"] },
  get: {
    id: "get",
    group: "rows",
    summary: "Get a row",
    parameters: [ID, IF_NONE_MATCH],
    responses: [{ status: 200, when: "The row.", bodies: ROW, headers: ["ETag"] }, NOT_MODIFIED],
    problems: [...READS, "invalid_id", "not_found"],
  },
  groups: {
    id: "groups",
    group: "rows",
    summary: "Count and sum up groups of rows",
    parameters: [...OF_GROUPS, ...CONDITIONS, IF_NONE_MATCH],
    isFiltered: true,
    responses: [
      {
        status: 200,
        when: `All groups, at most ${MAX_GROUPS.toLocaleString("en-US")}, sorted by their columns, with nulls last.`,
        bodies: [{ table: "groups" }],
        headers: ["ETag"],
      },
      NOT_MODIFIED,
    ],
    problems: [...READS, "needs_index", "too_many_groups"],
  },
  changes: {
    id: "changes",
    group: "rows",
    summary: "Stream the changes of a live app's table",
    parameters: [LAST_EVENT_ID],
    responses: [
      {
        status: 200,
        when: 'Server-sent events with an `id`. `ready`: the stream begins. `changes`: a JSON list of `{"put": row}` and `{"delete": id}`. `reset`: list the table again.',
        bodies: [{ type: "string" }],
        mediaType: "text/event-stream",
      },
    ],
    problems: [...COMMON, "invalid_id"],
  },
  create: {
    id: "create",
    group: "rows",
    summary: `Create a row, or up to ${MAX_BATCH.toLocaleString("en-US")} rows in one transaction`,
    parameters: [IDEMPOTENCY_KEY, STRICT],
    bodies: [{ table: "insert" }, { table: "inserts" }],
    responses: [
      {
        status: 201,
        when: "The stored row, or the stored rows in the order of the request.",
        bodies: [{ table: "row" }, { table: "rows" }],
        headers: ["ETag", "Location", "Idempotency-Replayed", "Preference-Applied"],
      },
    ],
    problems: [...COMMON, ...BODIES],
  },
  upsert: {
    id: "create",
    group: "rows",
    summary: `Create or update a row, or up to ${MAX_BATCH.toLocaleString("en-US")} rows in one transaction`,
    parameters: [UNIQUE, EXISTING, IDEMPOTENCY_KEY, STRICT],
    bodies: [{ table: "insert" }, { table: "inserts" }],
    responses: [
      {
        status: 201,
        when: "The new row, or without `onConflict` the new rows in the order of the request.",
        bodies: [{ table: "row" }, { table: "rows" }],
        headers: ["ETag", "Location", "Idempotency-Replayed", "Preference-Applied"],
      },
      {
        status: 200,
        when: "With `onConflict`: the existing row as it is now, or the result of a list.",
        bodies: [{ table: "row" }, { table: "upserted" }],
        headers: ["ETag", "Idempotency-Replayed", "Preference-Applied"],
      },
    ],
    problems: [...COMMON, ...BODIES, "not_found"],
  },
  update: {
    id: "update",
    group: "rows",
    summary: "Update columns of a row",
    parameters: [ID, IF_MATCH, IDEMPOTENCY_KEY, STRICT],
    bodies: [{ table: "update" }],
    responses: [
      {
        status: 200,
        when: "The stored row.",
        bodies: ROW,
        headers: ["ETag", "Idempotency-Replayed", "Preference-Applied"],
      },
    ],
    problems: [
      ...COMMON,
      ...BODIES,
      "invalid_id",
      "not_found",
      "precondition_failed",
      "response_too_large",
    ],
  },
  updateMany: {
    id: "update_many",
    group: "rows",
    summary: `Update up to ${MAX_BATCH.toLocaleString("en-US")} rows in one transaction`,
    parameters: [IDEMPOTENCY_KEY, STRICT],
    bodies: [{ table: "updates" }],
    responses: [
      {
        status: 200,
        when: "The stored rows in the order of the request.",
        bodies: [{ table: "rows" }],
        headers: ["Idempotency-Replayed", "Preference-Applied"],
      },
    ],
    problems: [...COMMON, ...BODIES, "not_found", "precondition_failed"],
  },
  updateWhere: {
    id: "update_many",
    group: "rows",
    summary: `Update up to ${MAX_BATCH.toLocaleString("en-US")} rows in one transaction: those of a list, or those that match conditions`,
    parameters: [...OF_WRITE, IDEMPOTENCY_KEY, STRICT],
    isFiltered: true,
    bodies: [{ table: "updates" }, { table: "update" }],
    responses: [
      {
        status: 200,
        when: "The stored rows in the order of the list, or with conditions the number of rows.",
        bodies: [{ table: "rows" }, COUNTED],
        headers: ["Idempotency-Replayed", "Preference-Applied"],
      },
    ],
    problems: [
      ...COMMON,
      ...BODIES,
      "not_found",
      "precondition_failed",
      "needs_index",
      "too_many_rows",
    ],
  },
  deleteWhere: {
    id: "delete_many",
    group: "rows",
    summary: `Delete up to ${MAX_BATCH.toLocaleString("en-US")} rows that match conditions, in one transaction`,
    parameters: [...OF_WRITE, IDEMPOTENCY_KEY],
    isFiltered: true,
    responses: [
      {
        status: 200,
        when: "The rows are deleted. Returns their number.",
        bodies: [COUNTED],
        headers: ["Idempotency-Replayed"],
      },
    ],
    problems: [
      ...COMMON,
      "invalid_precondition",
      "idempotency_mismatch",
      "idempotency_full",
      "needs_index",
      "too_many_rows",
      "still_referenced",
    ],
  },
  delete: {
    id: "delete",
    group: "rows",
    summary: "Delete a row",
    parameters: [ID, IF_MATCH],
    responses: [{ status: 204, when: "The row is deleted." }],
    problems: [
      ...COMMON,
      "invalid_id",
      "invalid_precondition",
      "not_found",
      "precondition_failed",
      "response_too_large",
      "still_referenced",
    ],
  },
} as const satisfies Record<string, Operation>;

/** The names of all query parameters, except those that are columns. */
export const QUERY_PARAMETERS: ReadonlySet<string> = new Set(
  Object.values<Operation>(OPERATIONS).flatMap(({ parameters = [] }) =>
    parameters.flatMap((parameter) => (parameter.in === "query" ? [parameter.name] : [])),
  ),
);
