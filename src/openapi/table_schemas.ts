/** The schemas of one table, or of a generic table. Pure. @module */

import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import * as v from "valibot";
import { batchOf, foundOf, groupsOf, pageOf, toValueSchema, upsertedOf } from "../data/mod.ts";
import { type JsonSchema, TAGS_SCHEMA, type TableShape } from "../http/mod.ts";
import { type Aggregate, VALUES } from "../kinds/mod.ts";
import type { Preview } from "../preview.ts";
import type { NamedColumn, TableDefinition } from "../schema/mod.ts";
import { MAX_BATCH } from "../std/limits.ts";
import { ROW_MATCH } from "../tables/catalog/mod.ts";
import { TABLE_KEYWORD } from "./table_keyword.ts";

// JSON Schemas of bodies, from the schemas of their routes. Pure.

/** @throws {Error} a part of the schema has no equivalent in JSON Schema */
export function toBodySchema(body: GenericSchema): JsonSchema {
  const { $schema: _, ...schema } = toJsonSchema(body, {
    target: "draft-2020-12",
    typeMode: "input",
    // Rules in code. The descriptions state them.
    ignoreActions: ["check", "raw_check", "raw_transform"],
    overrideSchema: ({ jsonSchema, errors }) => (errors ? undefined : shorten({ ...jsonSchema })),
  });
  return schema;
}

/** Older drafts reject an empty `required` list, and generators of clients write a class for each alternative of a value. */
function shorten({ required, anyOf, ...schema }: JsonSchema): JsonSchema {
  const listed = Array.isArray(required) && required.length > 0 ? { required } : {};
  if (!Array.isArray(anyOf)) return { ...schema, ...listed };
  const [value, empty, ...more]: JsonSchema[] = anyOf;
  const isScalar = typeof value?.["type"] === "string" && !/^(object|array)$/.test(value["type"]);
  if (!isScalar || empty?.["type"] !== "null" || more.length > 0) return { ...schema, anyOf };
  const choices = Array.isArray(value["enum"]) ? { enum: [...value["enum"], null] } : {};
  return { ...schema, ...value, type: [value["type"], "null"], ...choices };
}

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
  const anyColumn = (row: object) =>
    table === undefined ? { additionalProperties: true, examples: [row] } : {};
  const part = {
    type: "object",
    properties: { id: ID, app_id: APP_ID, ...values },
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
          [name("found")]: toBodySchema(
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
          [name("groups")]: toGroupsSchema(part.properties, columns),
          [name("upserted")]: toBodySchema(upsertedOf(asPart(row))),
        }
      : { [name("page")]: toBodySchema(pageOf(asPart(row))) }),
    [name("inserts")]: {
      type: "array",
      minItems: 1,
      maxItems: MAX_BATCH,
      items: toReference(name("insert")),
    },
    [name("updates")]: {
      type: "array",
      minItems: 1,
      maxItems: MAX_BATCH,
      items: {
        type: "object",
        properties: {
          id: { type: "string", format: "uuid", description: "The id of the row to update." },
          [ROW_MATCH]: {
            ...TAGS_SCHEMA,
            description:
              "The `ETag` of the row. If the row has changed since, the request fails and writes nothing.",
          },
          ...toProperties(columns, toUpdateSchema),
        },
        required: ["id"],
      },
    },
    [name("rows")]: toBodySchema(batchOf(asPart(row))),
  };
}

const DECIMAL: JsonSchema = { type: ["string", "null"], pattern: "^-?[0-9]+([.][0-9]+)?$" };

/** The groups of a table: each part has only the requested columns. */
function toGroupsSchema(properties: Schemas, columns: readonly NamedColumn[]): JsonSchema {
  const isKey = (column: NamedColumn) => VALUES[column.kind].operators.length > 0;
  const keys = toProperties(columns.filter(isKey), toValueSchema);
  const of = (aggregate: Aggregate, toSchema: (column: NamedColumn) => JsonSchema) => {
    const some = columns.filter(({ kind }) => VALUES[kind].aggregates?.includes(aggregate));
    return asPart({ type: "object", properties: toProperties(some, toSchema) });
  };
  // Without a row that has a value, a group has none.
  const toOptional = (column: NamedColumn) => toValueSchema({ ...column, required: false });
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

function listReferences(columns: readonly NamedColumn[]): NamedColumn[] {
  return columns.filter(({ kind }) => kind === "ref");
}

/** A reference in a list: its id, or the selected columns of its row. */
function toFoundReference(column: NamedColumn): JsonSchema {
  const { description, ...id } = toValueSchema({ ...column, required: true });
  return {
    description: `${description} If \`select\` has columns of its row, an object of them.`,
    anyOf: [id, { type: "object" }, { type: "null" }],
  };
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

function asPart(schema: JsonSchema) {
  return v.pipe(v.unknown(), v.metadata(schema));
}
