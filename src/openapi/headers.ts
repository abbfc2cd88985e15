/**
 * The headers of responses. The value of each is defined once in a document, and not the header: for references to headers,
 * generators of clients write types without `undefined`. Pure.
 *
 * @module
 */
import { type JsonSchema, RESPONSE_HEADERS } from "../http/mod.ts";
import { type Schemas, toReference } from "./references.ts";

function define(description: string, schema: JsonSchema = { type: "string" }): JsonSchema {
  return { ...schema, description };
}

const OWN = {
  "X-Request-Id": define("The id of this request in the log."),
  RateLimit: define(
    'The closest limit, such as `"key";r=599999;t=1`: requests left, and seconds until all are available again.',
  ),
  "RateLimit-Policy": define(
    'The limits, such as `"app";q=600000;w=60`: requests per window, and its seconds.',
  ),
  "Retry-After": define("Seconds to wait before a retry.", { type: "integer" }),
  "WWW-Authenticate": define("`Bearer`, if the endpoint requires a key."),
} satisfies Schemas;

export type HeaderName = keyof typeof OWN | keyof typeof RESPONSE_HEADERS;

/** Only in responses to an accepted key. */
export const QUOTA_HEADERS = ["RateLimit", "RateLimit-Policy"] as const;

/** The schemas of all headers. */
export function toHeaderSchemas(): Schemas {
  const others = Object.entries(RESPONSE_HEADERS).map(([name, about]) => [name, define(about)]);
  const all: Schemas = { ...OWN, ...Object.fromEntries(others) };
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [toName(name), value]));
}

export function toHeaders(names: readonly HeaderName[]): JsonSchema {
  return Object.fromEntries(
    names.map((name) => [name, { schema: toReference("schemas", toName(name)) }]),
  );
}

function toName(header: string): string {
  return `header-${header}`;
}
