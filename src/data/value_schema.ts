/** JSON Schemas of each column kind's values, as the readers of `values.ts` accept them and the database prints them. @module */
import { JSON_NUMBERS, type Kind, type NamedColumn } from "../dsl/mod.ts";
import type { JsonSchema } from "../http/mod.ts";
import { DECIMAL_MAX_CHARS } from "../std/decimal.ts";

/** PostgreSQL cannot store U+0000 or lone surrogates. */
const STORABLE = "^[^\\u0000]*$";
const UUID = "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$";
const LEAP_YEAR = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)";
const DAY =
  "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))";
const CLOCK = "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?";
/** All times except the hours that an offset moves out of the years 0001 to 9999. */
const SENT_TIME = `^(?!0000)([0-9]{4}-${DAY}|${LEAP_YEAR}-02-29)${CLOCK}(Z|[+-](0[0-9]|1[0-5]):[0-5][0-9])$`;

const JSON_REFERENCE = "#/components/schemas/json";
const INSIDE = { $ref: JSON_REFERENCE };
const { least, below } = JSON_NUMBERS;

/**
 * The schema at {@linkcode JSON_REFERENCE} if a table has a json column. Client generators produce `any` only
 * if no type is set outside a condition.
 */
export const JSON_VALUE: JsonSchema = {
  description: "Any JSON value.",
  pattern: STORABLE,
  if: { type: "array" },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { items: INSIDE },
  else: {
    propertyNames: { pattern: STORABLE },
    additionalProperties: INSIDE,
    anyOf: [
      { minimum: least, exclusiveMaximum: below },
      { exclusiveMinimum: -below, maximum: -least },
      { const: 0 },
    ],
  },
};

/** The `format` of each kind's schema; `undefined` if the JSON type suffices. */
export const FORMATS = {
  string: undefined,
  number: "double",
  decimal: "decimal",
  boolean: undefined,
  uuid: "uuid",
  timestamp: "date-time",
  json: undefined,
  enum: undefined,
  ref: "uuid",
} as const satisfies Record<Kind, string | undefined>;

const SCHEMAS: Readonly<Record<Kind, (column: NamedColumn) => JsonSchema>> = {
  string: () => ({
    type: "string",
    pattern: STORABLE,
    description: "Text of any length, without U+0000.",
  }),
  number: () => ({
    type: "number",
    format: FORMATS.number,
    description: "A number that a double holds exactly. Other numbers are rejected.",
  }),
  decimal: () => ({
    type: "string",
    format: FORMATS.decimal,
    pattern: "^-?[0-9]+(\\.[0-9]+)?$",
    maxLength: DECIMAL_MAX_CHARS,
    description: "A decimal number as a string, which preserves every digit.",
  }),
  boolean: () => ({ type: "boolean" }),
  uuid: () => ({
    type: "string",
    format: FORMATS.uuid,
    pattern: UUID,
    description: "A UUID, returned in lowercase.",
  }),
  ref: ({ table }) => ({
    type: "string",
    format: FORMATS.ref,
    pattern: UUID,
    description: `The id of a row of \`${table ?? "another table"}\`.`,
  }),
  timestamp: () => ({
    type: "string",
    format: FORMATS.timestamp,
    pattern: SENT_TIME,
    description: "A time with `Z` or an offset, rounded to the microsecond. Returned in UTC.",
  }),
  json: () => ({ description: "Any JSON value.", $ref: JSON_REFERENCE }),
  enum: ({ values = [] }) => ({ type: "string", enum: [...values] }),
};

/** The schema of a column's values, with `null` unless the column is required. */
export function toValueSchema(column: NamedColumn): JsonSchema {
  const schema = describeUnique(column, SCHEMAS[column.kind](column));
  if (column.required)
    return column.kind === "json" ? { ...schema, not: { type: "null" } } : schema;
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: [type, "null"] }),
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
  };
}

/** States that a column is unique, which a schema of single values cannot express. */
function describeUnique({ unique }: NamedColumn, schema: JsonSchema): JsonSchema {
  if (unique !== true) return schema;
  const { description } = schema;
  return {
    ...schema,
    description: description === undefined ? UNIQUE : `${description} ${UNIQUE}`,
  };
}

const UNIQUE = "No two rows of the app have the same value.";
