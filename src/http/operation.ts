/** Types that describe endpoints. The OpenAPI document is generated from the descriptions in the route table. @module */
import type { GenericSchema } from "valibot";
import type { ProblemCode } from "../problem.ts";

/** JSON Schema 2020-12. @see https://json-schema.org/draft/2020-12 */
export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * Schemas that are generated per table: a row, a row to create, changes to a row, a page of rows, a page of a query, groups of
 * rows, rows to create or update together, the result of an upsert, and rows written together.
 */
export type TableShape =
  | "row"
  | "insert"
  | "update"
  | "page"
  | "found"
  | "groups"
  | "inserts"
  | "upserted"
  | "updates"
  | "rows";

/** A body: its schema, JSON Schema for a value that no schema reads, or the schema of a table. */
export type Shape = GenericSchema | JsonSchema | { readonly table: TableShape };

/** Days in UTC, such as `2027-01-31`: the start of the deprecation and of the removal. */
export type Deprecation = { readonly since: string; readonly until?: string };

export type OperationParameter = {
  readonly in: "path" | "query" | "header";
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
  /** Parameters of the path are always required. */
  readonly isRequired?: boolean;
  readonly deprecated?: Deprecation;
};

/** An entity tag in `If-Match` and `If-None-Match`. */
const SINGLE_TAG = '(W/)?"[!#-~]*"';
export const TAGS_SCHEMA: JsonSchema = {
  type: "string",
  format: "entity-tags",
  pattern: `^(\\*|${SINGLE_TAG}( *, *${SINGLE_TAG})*)$`,
};

export const IF_NONE_MATCH: OperationParameter = {
  in: "header",
  name: "If-None-Match",
  description: "The `ETag` of the caller's copy. Returns 304 if it is still current.",
  schema: { ...TAGS_SCHEMA, examples: ['"5d41402abc4b2a76b9719d911017c592"'] },
};

export type OperationResponse = {
  readonly status: number;
  readonly when: string;
  /** Alternatives; without any, the response has no body. */
  readonly bodies?: readonly Shape[];
  /** Defaults to JSON. */
  readonly mediaType?: "text/event-stream";
  /** Names of {@linkcode RESPONSE_HEADERS}. */
  readonly headers?: readonly ResponseHeader[];
};

export const NOT_MODIFIED: OperationResponse = {
  status: 304,
  when: "Not modified: the `ETag` in `If-None-Match` is current.",
  headers: ["ETag"],
};

/** The groups of the OpenAPI document, in order. */
export const OPERATION_GROUPS = {
  rows: "The rows of an app's tables.",
  schema: "The schema that an app has declared. `rowhouse db push` calls these endpoints.",
  identity: "The signed-in person, for browser apps under the cookie's domain.",
  service: "The service itself.",
} as const;

export type Operation = {
  /** Unique. For table endpoints, the table's name is appended. */
  readonly id: string;
  readonly group: keyof typeof OPERATION_GROUPS;
  readonly summary: string;
  readonly deprecated?: Deprecation;
  readonly parameters?: readonly OperationParameter[];
  /** Whether every column of the table is also a parameter. */
  readonly isFiltered?: true;
  /** Alternatives for the request body. */
  readonly bodies?: readonly Shape[];
  readonly responses: readonly OperationResponse[];
  /** Error codes in addition to those that follow from the access. */
  readonly problems: readonly ProblemCode[];
};

/** Response headers for programs. */
export const RESPONSE_HEADERS = {
  ETag: "The state of the row or page, for `If-Match` and `If-None-Match`.",
  Location: "The path of the new row.",
  "Idempotency-Replayed": "`true` if the write happened before. This is the original response.",
  "Preference-Applied":
    "`return=minimal` on a replayed response that was too large to store. It contains only the id.",
} as const;
type ResponseHeader = keyof typeof RESPONSE_HEADERS;
