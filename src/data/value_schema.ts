/** JSON Schemas of each column kind's values, as the readers of `values.ts` accept them and the database prints them. @module */
import type { NamedColumn } from "../dsl/mod.ts";
import type { JsonSchema } from "../http/mod.ts";
import { VALUES } from "../kinds/mod.ts";

/** The schema of a column's values, with `null` unless the column is required. */
export function toValueSchema(column: NamedColumn): JsonSchema {
  const schema = describeUnique(column, VALUES[column.kind].schema(column));
  const { type, enum: values } = schema;
  if (column.required) return type === undefined ? { ...schema, not: { type: "null" } } : schema;
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
