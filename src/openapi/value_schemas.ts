/** The schemas of values. Those that do not depend on a table are defined once, and tables refer to them. Pure. @module */
import { foundOf, toValueSchema, upsertedOf } from "../data/mod.ts";
import { type JsonSchema, TAGS_SCHEMA } from "../http/mod.ts";
import { KINDS, type Kind, VALUES } from "../kinds/mod.ts";
import type { NamedColumn } from "../schema/mod.ts";
import { ROW_MATCH } from "../tables/catalog/mod.ts";
import { asPart, toBodySchema } from "./body_schemas.ts";
import { type Schemas, toReference } from "./references.ts";

/** A value of the column. Columns of a kind share a schema, unless each has values of its own. */
export function toColumnSchema(column: NamedColumn): JsonSchema {
  const own = toValueSchema(column);
  const shared = toKindSchema(column.kind, column.required);
  if (shared === undefined) return own;
  const { description } = own;
  return {
    ...toReference("schemas", toKindName(column.kind, column.required)),
    ...(description === shared["description"] ? {} : { description }),
  };
}

/** `undefined`: the schema of each column is short, or has its own values. */
function toKindSchema(kind: Kind, required: boolean): JsonSchema | undefined {
  const schema = toValueSchema({ name: kind, kind, required, unique: false, index: false });
  return schema["description"] === undefined || schema["$ref"] !== undefined ? undefined : schema;
}

function toKindName(kind: Kind, required: boolean): string {
  return required ? kind : `${kind}-or-null`;
}

/** A reference in a list: its id, or the selected columns of its row. */
export function toFoundReference(column: NamedColumn): JsonSchema {
  const { description } = toValueSchema(column);
  return {
    ...toReference("schemas", FOUND_REFERENCE),
    description: `${description} If \`select\` has columns of its row, an object of them.`,
  };
}

const FOUND_REFERENCE = "ref-or-row";

/** The id of a row, and the id of its app. */
export const IDS: Schemas = {
  id: { ...toReference("schemas", "row-id"), readOnly: true },
  app_id: { ...toReference("schemas", "row-app_id"), readOnly: true },
};

/** Which row an element of a list of updates changes. */
export const MATCH: Schemas = {
  id: toReference("schemas", "match-id"),
  [ROW_MATCH]: toReference("schemas", "match-tag"),
};

/** The body with references to the fields that are the same for all tables: those beside the rows. */
export function shareFields(body: JsonSchema): JsonSchema {
  const fields = Object.entries(Object(body["properties"])).map(([name, field]) => [
    name,
    name in FIELDS ? toReference("schemas", toFieldName(name)) : field,
  ]);
  return { ...body, properties: Object.fromEntries(fields) };
}

const FIELDS = listFields([foundOf(asPart({})), upsertedOf(asPart({}))].map(toBodySchema));

function listFields(bodies: readonly JsonSchema[]): Schemas {
  const { rows: _, ...fields } = Object.assign({}, ...bodies.map((body) => body["properties"]));
  return fields;
}

function toFieldName(name: string): string {
  return `field-${name}`;
}

const ID: JsonSchema = {
  type: "string",
  format: "uuid",
  readOnly: true,
  description: "The id of the row: a UUIDv7 that the service generates.",
};

/** All schemas of values to which others can refer. */
export function toValueSchemas(): Schemas {
  const ofKinds = KINDS.flatMap((kind) =>
    [true, false].map((required) => [toKindName(kind, required), toKindSchema(kind, required)]),
  ).filter(([, schema]) => schema !== undefined);
  const { description: _, ...id } = toKindSchema("ref", true) ?? {};
  return {
    ...Object.fromEntries(ofKinds),
    ...Object.assign({}, ...KINDS.map((kind) => VALUES[kind].components?.())),
    ...Object.fromEntries(
      Object.entries(FIELDS).map(([name, field]) => [toFieldName(name), field]),
    ),
    [FOUND_REFERENCE]: {
      description: "The id of a row, or selected columns of the row.",
      anyOf: [id, { type: "object" }, { type: "null" }],
    },
    "match-id": { type: "string", format: "uuid", description: "The id of the row to update." },
    "match-tag": {
      ...TAGS_SCHEMA,
      description:
        "The `ETag` of the row. If the row has changed since, the request fails and writes nothing.",
    },
    "row-id": ID,
    "row-app_id": {
      ...ID,
      description: "The id of the app that owns the row: always the key's app.",
    },
  };
}
