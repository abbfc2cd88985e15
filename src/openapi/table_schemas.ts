/** The schemas of one table, or of any table where none is named. Pure. @module */
import { MAX_BATCH, MAX_ROWS, toDefaultSchema, toValueSchema } from "../data/mod.ts";
import type { NamedColumn, TableDefinition } from "../dsl/mod.ts";
import type { JsonSchema, TableShape } from "../http/mod.ts";

export type Schemas = Readonly<Record<string, JsonSchema>>;

const ID: JsonSchema = { type: "string", format: "uuid", readOnly: true };

/** Where one of a table's schemas stands. Table names have no hyphen: this is nobody else's. */
export function toSchemaName(table: string | undefined, shape: TableShape): string {
  return `${table ?? "any"}-${shape}`;
}

export function toReference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** All shapes of a table; of `undefined`, those that every table has in common. */
export function toTableSchemas(table: TableDefinition | undefined): Schemas {
  const columns = table?.columns ?? [];
  const name = (shape: TableShape) => toSchemaName(table?.name, shape);
  const row = toReference(name("row"));
  return {
    [name("row")]: {
      type: "object",
      properties: { id: ID, app_id: ID, ...toProperties(columns, toValueSchema) },
      required: ["id", "app_id", ...columns.map((column) => column.name)],
    },
    [name("insert")]: {
      type: "object",
      properties: toProperties(columns, toInsertSchema),
      ...listRequired(columns.filter((one) => one.required && one.default === undefined)),
    },
    [name("update")]: { type: "object", properties: toProperties(columns, toValueSchema) },
    [name("page")]: toPage(row),
    [name("inserts")]: {
      type: "array",
      minItems: 1,
      maxItems: MAX_BATCH,
      items: toReference(name("insert")),
    },
    [name("rows")]: {
      type: "object",
      properties: { rows: { type: "array", items: row } },
      required: ["rows"],
    },
  };
}

function toInsertSchema(column: NamedColumn): JsonSchema {
  return { ...toValueSchema(column), ...toDefaultSchema(column) };
}

function toProperties(
  columns: readonly NamedColumn[],
  toSchema: (column: NamedColumn) => JsonSchema,
): Schemas {
  return Object.fromEntries(columns.map((column) => [column.name, toSchema(column)]));
}

/** An empty list of required properties is no JSON Schema of older drafts, which tools still check by. */
function listRequired(columns: readonly NamedColumn[]): { required?: string[] } {
  return columns.length === 0 ? {} : { required: columns.map(({ name }) => name) };
}

function toPage(row: JsonSchema): JsonSchema {
  return {
    type: "object",
    properties: {
      rows: { type: "array", maxItems: MAX_ROWS, items: row },
      limit: { type: "integer", description: "How many rows were asked for, once reduced." },
      offset: { type: "integer" },
      hasMore: { type: "boolean", description: "Whether another page follows." },
    },
    required: ["rows", "limit", "offset", "hasMore"],
  };
}
