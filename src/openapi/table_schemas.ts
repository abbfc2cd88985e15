/** The schemas of one table, or of a generic table. Pure. @module */
import * as v from "valibot";
import { createdOf, foundOf, pageOf, toValueSchema } from "../data/mod.ts";
import type { JsonSchema, TableShape } from "../http/mod.ts";
import { VALUES } from "../kinds/mod.ts";
import type { Preview } from "../preview.ts";
import type { NamedColumn, TableDefinition } from "../schema/mod.ts";
import { MAX_BATCH } from "../std/limits.ts";
import { toBodySchema } from "./body_schema.ts";
import { TABLE_KEYWORD } from "./table_keyword.ts";

export type Schemas = Readonly<Record<string, JsonSchema>>;

const ID: JsonSchema = {
  type: "string",
  format: "uuid",
  readOnly: true,
  description: "The id of the row: a UUIDv7 that the service generates.",
};
const APP_ID: JsonSchema = {
  ...ID,
  description: "The id of the app that owns the row: always the key's app.",
};

/** The component name of a table's schema. Table names contain no hyphen, so it is unique. */
export function toSchemaName(table: string | undefined, shape: TableShape): string {
  return `${table ?? "any"}-${shape}`;
}

export function toReference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** All schemas of a table; for `undefined`, the schemas that all tables share. */
export function toTableSchemas(
  table: TableDefinition | undefined,
  previews: readonly Preview[],
): Schemas {
  const columns = table?.columns ?? [];
  const name = (shape: TableShape) => toSchemaName(table?.name, shape);
  const row = toReference(name("row"));
  const values = toProperties(columns, toValueSchema);
  const part = { type: "object", properties: { id: ID, app_id: APP_ID, ...values } };
  return {
    [name("row")]: {
      ...part,
      required: ["id", "app_id", ...columns.map((column) => column.name)],
    },
    [name("insert")]: {
      type: "object",
      properties: toProperties(columns, toInsertSchema),
      ...listRequired(columns.filter((column) => column.required && column.default === undefined)),
      // Commands check files of rows by these schemas, including facts without a JSON Schema keyword.
      ...(table === undefined ? {} : { [TABLE_KEYWORD]: table }),
    },
    [name("update")]: { type: "object", properties: toProperties(columns, toUpdateSchema) },
    ...(previews.includes("filters")
      ? { [name("found")]: toBodySchema(foundOf(asPart(part))) }
      : { [name("page")]: toBodySchema(pageOf(asPart(row))) }),
    [name("inserts")]: {
      type: "array",
      minItems: 1,
      maxItems: MAX_BATCH,
      items: toReference(name("insert")),
    },
    [name("rows")]: toBodySchema(createdOf(asPart(row))),
  };
}

function toInsertSchema(column: NamedColumn): JsonSchema {
  const schema = toValueSchema(column);
  if (column.default === undefined) return schema;
  const computed = VALUES[column.kind].default.computed?.[String(column.default)];
  if (computed === undefined) return { ...schema, default: column.default };
  const description = `${schema["description"]} Defaults to ${computed.insert}.`;
  return { ...schema, description };
}

function toUpdateSchema(column: NamedColumn): JsonSchema {
  const schema = toValueSchema(column);
  if (column.onUpdate === undefined) return schema;
  const description = `${schema["description"]} If left out, the time of the update if it changes another value.`;
  return { ...schema, description };
}

function toProperties(
  columns: readonly NamedColumn[],
  toSchema: (column: NamedColumn) => JsonSchema,
): Schemas {
  return Object.fromEntries(columns.map((column) => [column.name, toSchema(column)]));
}

/** Older drafts of JSON Schema, which tools still use, reject an empty `required` list. */
function listRequired(columns: readonly NamedColumn[]): { required?: string[] } {
  return columns.length === 0 ? {} : { required: columns.map(({ name }) => name) };
}

/** A JSON Schema as a part of a body. */
function asPart(schema: JsonSchema) {
  return v.pipe(v.unknown(), v.metadata(schema));
}
