/** Columns, parameters and the fields of bodies, as a page shows them. Pure. @module */
import type { JsonSchema } from "../../http/mod.ts";
import { VALUES } from "../../kinds/mod.ts";
import type { Document } from "../document.ts";
import { followReference, list, listAlternatives, printJson } from "./sample.ts";

/** A column, a field or a parameter. */
export type Field = {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly isDeprecated: boolean;
  readonly about: string;
  readonly values: readonly unknown[];
  readonly default: unknown;
};

export function toField(document: Document, name: string, schema: JsonSchema): Field {
  return {
    name,
    type: toTypeText(document, schema),
    isRequired: false,
    isDeprecated: schema["deprecated"] === true,
    about: text(schema["description"]),
    values: list(schema["enum"]).filter((value) => value !== null),
    default: schema["default"],
  };
}

type ListOptions = {
  /** Whether it belongs to a request, in which fields can be required. */
  isSent?: boolean;
  prefix?: string;
};

/** The fields of an object, each followed by its nested fields as `outer.inner`, or `outer[].inner` in a list. */
export function listFields(
  document: Document,
  given: JsonSchema,
  { isSent = false, prefix = "" }: ListOptions = {},
): Field[] {
  const schema = followReference(document, given);
  const required = list(schema["required"]);
  return Object.entries(Object(schema["properties"])).flatMap(([name, value]) => {
    const property: JsonSchema = Object(value);
    const field = toField(document, `${prefix}${name}`, property);
    return [
      { ...field, isRequired: isSent && required.includes(name) },
      ...listInner(document, property, { isSent, prefix: field.name }),
    ];
  });
}

/** A named schema, such as a row, is shown only at its own response. */
function listInner(document: Document, schema: JsonSchema, options: ListOptions): Field[] {
  const items: JsonSchema = Object(schema["items"]);
  const isList = schema["items"] !== undefined;
  const alternatives = listAlternatives(isList ? items : schema);
  const objects = alternatives.length > 0 ? alternatives : [isList ? items : schema];
  const prefix = isList ? `${options.prefix}[].` : `${options.prefix}.`;
  return objects
    .map((object): JsonSchema => Object(object))
    .filter((object) => object["properties"] !== undefined)
    .flatMap((object) => listFields(document, object, { ...options, prefix }));
}

/** The type in the terms of the docs. */
function toTypeText(document: Document, given: JsonSchema): string {
  const schema = followReference(document, given);
  if (schema["const"] !== undefined) return `always ${printJson(schema["const"])}`;
  const choices = listAlternatives(schema).map((choice) => Object(choice));
  const [choice] = choices;
  if (choice !== undefined) {
    const isNull = choices.some((choice) => choice["type"] === "null");
    return `${toTypeText(document, choice)}${isNull ? " or null" : ""}`;
  }
  const types = [schema["type"]].flat().filter((type) => type !== undefined);
  const named = types.filter((type) => type !== "null").map(text);
  const orNull = types.length > named.length ? " or null" : "";
  if (list(schema["enum"]).length > 0) return `one of${orNull === "" ? "" : ", or null"}`;
  if (named[0] === "array")
    return `list of ${toPlural(toTypeText(document, Object(schema["items"])))}${orNull}`;
  const format = FORMAT_NAMES.get(text(schema["format"]));
  if (named.length === 0) return Object(schema["not"])["type"] === "null" ? "JSON" : "any JSON";
  return `${format ?? named.join(" or ")}${orNull}`;
}

function toPlural(terms: string): string {
  return /^(string|object|integer|number|boolean)$/.test(terms) ? `${terms}s` : terms;
}

const FORMAT_NAMES: ReadonlyMap<string, string> = new Map(
  Object.values(VALUES).flatMap(({ formatName }) => (formatName === undefined ? [] : [formatName])),
);

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
