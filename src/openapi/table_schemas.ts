/** The schemas of one table, or of a generic table. Pure. @module */
import { batchOf, foundOf, groupsOf, pageOf, toValueSchema, upsertedOf } from "../data/mod.ts";
import type { JsonSchema, TableShape } from "../http/mod.ts";
import { type Aggregate, isReference, isSorted, VALUES } from "../kinds/mod.ts";
import type { Preview } from "../preview.ts";
import type { NamedColumn, TableDefinition } from "../schema/mod.ts";
import { MAX_BATCH } from "../std/limits.ts";
import { asPart, toBodySchema } from "./body_schemas.ts";
import { type Schemas, toReference } from "./references.ts";
import { TABLE_KEYWORD } from "./table_keyword.ts";
import { IDS, MATCH, shareFields, toColumnSchema, toFoundReference } from "./value_schemas.ts";

/** A row for the description of all tables, which has no columns to make one from. */
const EXAMPLE = { title: "Write the docs", done: false };
const EXAMPLE_IDS = {
  id: "0190163d-8694-739b-aea5-966c26f8ad91",
  app_id: "0190163d-8640-7cc7-8cc9-6a93f1f0a1b2",
};

/** The component name of a table's schema. Table names contain no hyphen, so it is unique. */
export function toSchemaName(table: string | undefined, shape: TableShape): string {
  return `${table ?? "any"}-${shape}`;
}

/** All schemas of a table; for `undefined`, the schemas that all tables share. */
export function toTableSchemas(
  table: TableDefinition | undefined,
  previews: readonly Preview[],
): Schemas {
  const columns = table?.columns ?? [];
  const name = (shape: TableShape) => toSchemaName(table?.name, shape);
  const row = toReference("schemas", name("row"));
  const values = toProperties(columns, toColumnSchema);
  const anyColumn = (row: object) =>
    table === undefined ? { additionalProperties: true, examples: [row] } : {};
  const part = {
    type: "object",
    properties: { ...IDS, ...values },
    ...anyColumn({ ...EXAMPLE_IDS, ...EXAMPLE }),
  };
  return {
    [name("row")]: {
      ...part,
      required: ["id", "app_id", ...columns.map((column) => column.name)],
    },
    [name("insert")]: {
      type: "object",
      properties: toProperties(columns, toInsertSchema),
      ...listRequired(columns.filter((column) => column.required && column.default === undefined)),
      ...anyColumn(EXAMPLE),
      // Commands check files of rows by these schemas, including facts without a JSON Schema keyword.
      ...(table === undefined ? {} : { [TABLE_KEYWORD]: table }),
    },
    [name("update")]: {
      type: "object",
      properties: toProperties(columns, toUpdateSchema),
      ...anyColumn({ done: true }),
    },
    ...(previews.includes("filters")
      ? {
          [name("found")]: shareFields(
            toBodySchema(
              foundOf(
                asPart({
                  ...part,
                  properties: {
                    ...part.properties,
                    ...toProperties(listReferences(columns), toFoundReference),
                  },
                }),
              ),
            ),
          ),
          [name("groups")]: toGroupsSchema(part.properties, columns),
          [name("upserted")]: shareFields(toBodySchema(upsertedOf(asPart(row)))),
        }
      : { [name("page")]: shareFields(toBodySchema(pageOf(asPart(row)))) }),
    [name("inserts")]: {
      type: "array",
      minItems: 1,
      maxItems: MAX_BATCH,
      items: toReference("schemas", name("insert")),
    },
    [name("updates")]: {
      type: "array",
      minItems: 1,
      maxItems: MAX_BATCH,
      items: {
        type: "object",
        properties: { ...MATCH, ...toProperties(columns, toUpdateSchema) },
        required: ["id"],
      },
    },
    [name("rows")]: toBodySchema(batchOf(asPart(row))),
  };
}

const DECIMAL: JsonSchema = { type: ["string", "null"], pattern: "^-?[0-9]+([.][0-9]+)?$" };

/** The groups of a table: each part has only the requested columns. */
function toGroupsSchema(properties: Schemas, columns: readonly NamedColumn[]): JsonSchema {
  const keys = toProperties(columns.filter(isSorted), toColumnSchema);
  const of = (aggregate: Aggregate, toSchema: (column: NamedColumn) => JsonSchema) => {
    const some = columns.filter(({ kind }) => VALUES[kind].aggregates?.includes(aggregate));
    return asPart({ type: "object", properties: toProperties(some, toSchema) });
  };
  // Without a row that has a value, a group has none.
  const toOptional = (column: NamedColumn) => toColumnSchema({ ...column, required: false });
  return toBodySchema(
    groupsOf(asPart({ type: "object", properties: { id: properties["id"] ?? {}, ...keys } }), {
      sum: of("sum", () => DECIMAL),
      avg: of("avg", () => DECIMAL),
      min: of("min", toOptional),
      max: of("max", toOptional),
    }),
  );
}

function toInsertSchema(column: NamedColumn): JsonSchema {
  if (column.default === undefined) return toColumnSchema(column);
  const schema = toValueSchema(column);
  const computed = VALUES[column.kind].default.computed?.[String(column.default)];
  if (computed === undefined) return { ...schema, default: column.default };
  return addSentence(column, `Defaults to ${computed.insert}.`);
}

function toUpdateSchema(column: NamedColumn): JsonSchema {
  if (column.onUpdate === undefined) return toColumnSchema(column);
  return addSentence(column, "If left out, the time of the update if it changes another value.");
}

function addSentence(column: NamedColumn, sentence: string): JsonSchema {
  const { description } = toValueSchema(column);
  return { ...toColumnSchema(column), description: `${description} ${sentence}` };
}

function listReferences(columns: readonly NamedColumn[]): NamedColumn[] {
  return columns.filter(isReference);
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
