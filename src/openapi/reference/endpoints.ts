/** The endpoints of a description as a page shows them, with references followed. Pure. @module */

import type { JsonSchema } from "../../http/mod.ts";
import { VALUES } from "../../kinds/mod.ts";
import type { Document } from "../document.ts";
import { followReference } from "../references.ts";
import type { DescribedRoute } from "../rejections.ts";
import { list, listAlternatives, makeSample, printJson } from "./sample.ts";

// Columns, parameters and the fields of bodies, as a page shows them. Pure.

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

function toField(document: Document, name: string, given: JsonSchema): Field {
  const schema = followReference(document, given);
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
function listFields(
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

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export type Parameter = Field & { readonly in: string; readonly sample: unknown };

export type Endpoint = {
  readonly id: string;
  readonly group: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly about: string;
  readonly isDeprecated: boolean;
  readonly access: DescribedRoute["access"];
  readonly scope: string | undefined;
  readonly parameters: readonly Parameter[];
  readonly body: Body | undefined;
  readonly responses: readonly EndpointResponse[];
  readonly isStream: boolean;
  readonly rejections: readonly { readonly status: string; readonly codes: readonly string[] }[];
};
export type Body = {
  readonly fields: readonly Field[];
  readonly sample: unknown;
  /** Whether a list of these is accepted too. */
  readonly maxItems: number | undefined;
};
type EndpointResponse = {
  readonly status: string;
  readonly when: string;
  /** The fields of the body, including nested fields. */
  readonly fields: readonly Field[];
  readonly sample: unknown;
};

export function listEndpoints(document: Document): Endpoint[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      toEndpoint(document, { path, method: method.toUpperCase(), operation }),
    ),
  );
}

type Found = { path: string; method: string; operation: JsonSchema };

function toEndpoint(document: Document, { path, method, operation }: Found): Endpoint {
  const responses = Object.entries(Object(operation["responses"])).map(([status, response]) => ({
    status,
    response: Object(followReference(document, Object(response))),
  }));
  return {
    id: text(operation["operationId"]),
    group: text(list(operation["tags"])[0]),
    ...{ method, path },
    summary: text(operation["summary"]),
    about: text(operation["description"]),
    isDeprecated: operation["deprecated"] === true,
    ...readAccess(list(operation["security"])),
    parameters: list(operation["parameters"]).map((parameter) =>
      toParameter(document, followReference(document, Object(parameter))),
    ),
    body: readBody(document, schemasOf(operation["requestBody"])),
    responses: responses
      .filter(({ status }) => status < "400")
      .map(({ status, response }) => toResponse(document, status, response)),
    isStream: responses.some(({ response }) => isEventStream(response)),
    rejections: responses
      .filter(({ status }) => status >= "400")
      .map(({ status, response }) => ({ status, codes: codesOf(response) })),
  };
}

/** The access rule in `security`: alternatives of credentials with their scopes. */
function readAccess(security: readonly unknown[]): Pick<Endpoint, "access" | "scope"> {
  const ways = security.flatMap((requirement) => Object.entries(Object(requirement)));
  const [[way, scopes] = ["", []]] = ways;
  const [scope] = list(scopes).map(text);
  if (way === "") return { access: "open", scope };
  const credential = way === "session" ? "session" : "key";
  return { access: security.length > 1 ? `optional-${credential}` : credential, scope };
}

function toParameter(document: Document, parameter: JsonSchema): Parameter {
  const { name, description, deprecated, required } = parameter;
  const field = toField(document, text(name), Object(parameter["schema"]));
  return {
    ...field,
    in: text(parameter["in"]),
    sample: makeSample(document, Object(parameter["schema"])),
    about: [text(description), field.about].filter((about) => about !== "").join(" "),
    isRequired: required === true,
    isDeprecated: deprecated === true,
  };
}

/** The fields of the first accepted shape; for rows, the other shapes are lists of it. */
function readBody(document: Document, schemas: readonly JsonSchema[]): Body | undefined {
  const [first, ...others] = schemas.map((schema) => followReference(document, schema));
  if (first === undefined) return undefined;
  const [maxItems] = others
    .map((other) => other["maxItems"])
    .filter((count) => typeof count === "number");
  return {
    fields: listFields(document, first, { isSent: true }),
    sample: makeSample(document, first, { isSent: true }),
    maxItems,
  };
}

function toResponse(document: Document, status: string, response: JsonSchema): EndpointResponse {
  const [schema] = schemasOf(response);
  const hasProperties =
    schema !== undefined && Object.keys(followReference(document, schema)).length > 1;
  return {
    status,
    when: text(response["description"]),
    fields: schema === undefined ? [] : listFields(document, schema),
    sample: hasProperties ? makeSample(document, schema) : undefined,
  };
}

/** A response has one example for each of its codes. */
function codesOf(response: JsonSchema): string[] {
  return Object.keys(Object(Object(Object(response["content"])["application/json"])["examples"]));
}

function isEventStream({ content }: JsonSchema): boolean {
  return Object.hasOwn(Object(content), "text/event-stream");
}

/** The schemas of a body's content, one per alternative of `oneOf`. */
function schemasOf(content: unknown): JsonSchema[] {
  const json = Object(Object(Object(content)["content"])["application/json"]);
  const schema: unknown = json["schema"];
  if (schema === undefined) return [];
  const choices = list(Object(schema)["oneOf"]);
  return (choices.length === 0 ? [schema] : choices).map((choice) => Object(choice));
}
