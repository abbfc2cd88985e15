/** JSON Schemas of bodies, from the schemas of their routes. Pure. @module */
import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import * as v from "valibot";
import type { JsonSchema } from "../http/mod.ts";

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

/** A part of a body as JSON Schema, such as the row in a page. */
export function asPart(schema: JsonSchema) {
  return v.pipe(v.unknown(), v.metadata(schema));
}
