/** What the data endpoints say of themselves, beside their routes. @module */
import {
  IF_NONE_MATCH,
  type Operation,
  type OperationAnswer,
  type OperationParameter,
  TAGS_SCHEMA,
} from "../http/mod.ts";
import type { ProblemCode } from "../problem.ts";
import { MAX_OFFSET, MAX_ROWS } from "./query.ts";

const ID: OperationParameter = {
  in: "path",
  name: "id",
  description: "The id of the row.",
  schema: { type: "string", format: "uuid" },
};
const IF_MATCH: OperationParameter = {
  in: "header",
  name: "If-Match",
  description: "The `ETag` of the row: if it has changed meanwhile, nothing is written.",
  schema: { ...TAGS_SCHEMA, examples: ["*"] },
};
const IDEMPOTENCY_KEY: OperationParameter = {
  in: "header",
  name: "Idempotency-Key",
  description: "A request that is sent again with its key within 24 hours happens once.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
};
const SAME: OperationAnswer = {
  status: 304,
  when: "What `If-None-Match` names is still right.",
  headers: ["ETag"],
};
const ROW: OperationAnswer["bodies"] = [{ table: "row" }];

/** What every endpoint of a table may answer. */
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
  "unknown_outcome",
] as const satisfies readonly ProblemCode[];

export const OPERATIONS = {
  list: {
    id: "list",
    group: "rows",
    summary: "List rows in the order of their creation",
    parameters: [
      {
        in: "query",
        name: "limit",
        description: `How many rows; more than ${MAX_ROWS} are reduced to that.`,
        schema: { type: "integer", minimum: 0, default: MAX_ROWS },
      },
      {
        in: "query",
        name: "offset",
        description: "How many rows to skip.",
        schema: { type: "integer", minimum: 0, maximum: MAX_OFFSET, default: 0 },
      },
      IF_NONE_MATCH,
    ],
    answers: [
      { status: 200, when: "A page of rows.", bodies: [{ table: "page" }], headers: ["ETag"] },
      SAME,
    ],
    problems: READS,
  },
  get: {
    id: "get",
    group: "rows",
    summary: "Get a row",
    parameters: [ID, IF_NONE_MATCH],
    answers: [{ status: 200, when: "The row.", bodies: ROW, headers: ["ETag"] }, SAME],
    problems: [...READS, "invalid_id", "not_found"],
  },
  create: {
    id: "create",
    group: "rows",
    summary: "Create a row, or up to 1,000: all of them or none",
    parameters: [IDEMPOTENCY_KEY],
    bodies: [{ table: "insert" }, { table: "inserts" }],
    answers: [
      {
        status: 201,
        when: "The row as it is stored, or the rows in the order in which they were sent.",
        bodies: [{ table: "row" }, { table: "rows" }],
        headers: ["ETag", "Location", "Idempotency-Replayed", "Preference-Applied"],
      },
    ],
    problems: [...COMMON, ...BODIES],
  },
  update: {
    id: "update",
    group: "rows",
    summary: "Change some columns of a row",
    parameters: [ID, IF_MATCH, IDEMPOTENCY_KEY],
    bodies: [{ table: "update" }],
    answers: [
      {
        status: 200,
        when: "The row as it is stored now.",
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
  delete: {
    id: "delete",
    group: "rows",
    summary: "Delete a row",
    parameters: [ID, IF_MATCH],
    answers: [{ status: 204, when: "The row is gone." }],
    problems: [
      ...COMMON,
      "invalid_id",
      "invalid_precondition",
      "not_found",
      "precondition_failed",
      "response_too_large",
      "still_referenced",
      "unknown_outcome",
    ],
  },
} as const satisfies Record<string, Operation>;
