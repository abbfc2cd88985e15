/** References within a document. Pure. @module */
import type { JsonSchema } from "../../http/mod.ts";
import type { Document } from "../document.ts";

/** The target of a reference; other values unchanged. */
export function followReference({ components }: Document, schema: JsonSchema): JsonSchema {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  const [kind = "", name = ""] = reference.split("/").slice(2);
  return Object(Object(Object(components)[kind])[name]);
}
