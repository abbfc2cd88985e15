/**
 * What an endpoint says of itself: it stands in the route table, and the API's description is made of it. Handles nothing.
 *
 * @module
 */
import type { ProblemCode } from "../problem.ts";

/** JSON Schema 2020-12. @see https://json-schema.org/draft/2020-12 */
export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * A schema that each table has its own of: a row as it is answered, a row to create, what to change of one, a page of rows,
 * a page of a query, rows to create together, and rows created together.
 */
export type TableShape = "row" | "insert" | "update" | "page" | "found" | "inserts" | "rows";

export type Shape = JsonSchema | { readonly table: TableShape };

/** Days in UTC, such as `2027-01-31`, from whose first moment something is deprecated, and is gone. */
export type Deprecation = { readonly since: string; readonly until?: string };

export type OperationParameter = {
  readonly in: "path" | "query" | "header";
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly deprecated?: Deprecation;
};

/** The texts of entity tags, or `*`: what {@linkcode OperationParameter} says of `If-Match` and `If-None-Match`. */
const ONE_TAG = '(W/)?"[!#-~]*"';
export const TAGS_SCHEMA: JsonSchema = {
  type: "string",
  format: "entity-tags",
  pattern: `^(\\*|${ONE_TAG}( *, *${ONE_TAG})*)$`,
};

export const IF_NONE_MATCH: OperationParameter = {
  in: "header",
  name: "If-None-Match",
  description: "The `ETag` of what the caller has: if it is still right, the answer is 304.",
  schema: { ...TAGS_SCHEMA, examples: ['"5d41402abc4b2a76b9719d911017c592"'] },
};

export type OperationAnswer = {
  readonly status: number;
  readonly when: string;
  /** Without one the answer has no body; of several it is one. */
  readonly bodies?: readonly Shape[];
  /** Names of {@linkcode ANSWER_HEADERS}. */
  readonly headers?: readonly AnswerHeader[];
};

/** The groups of the description, in its order. */
export const OPERATION_GROUPS = {
  rows: "The rows of an app's tables.",
  schema: "What an app has declared. `rowhouse db push` calls these endpoints.",
  identity: "Whether a person is signed in, for browser apps under the cookie's domain.",
  service: "The service itself.",
} as const;

export type Operation = {
  /** Unique. Of an endpoint of tables the name of the table follows. */
  readonly id: string;
  readonly group: keyof typeof OPERATION_GROUPS;
  readonly summary: string;
  readonly deprecated?: Deprecation;
  readonly parameters?: readonly OperationParameter[];
  /** Whether every column of the table is a parameter, too. */
  readonly isFiltered?: true;
  /** Of the request; of several it is one. */
  readonly bodies?: readonly Shape[];
  readonly answers: readonly OperationAnswer[];
  /** Refusals beside those that follow from the access. */
  readonly problems: readonly ProblemCode[];
};

/** Headers of answers that a program may want to read. */
export const ANSWER_HEADERS = {
  ETag: "The state of the row or page: for `If-Match` and `If-None-Match`.",
  Location: "The path of the new row.",
  "Idempotency-Replayed": "`true` if the write happened before: this is what it was answered then.",
  "Preference-Applied":
    "`return=minimal` on a repeated answer that was too large to keep: it has the id alone.",
} as const;
export type AnswerHeader = keyof typeof ANSWER_HEADERS;
