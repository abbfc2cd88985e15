/** Checks that the OpenAPI document describes a response. Every HTTP test calls it. @module */
import { makeRouter, splitTarget } from "../../src/http/mod.ts";
import { type Document, makeDocument } from "../../src/openapi/mod.ts";
import { PREVIEWS } from "../../src/preview.ts";
import { described } from "../../src/service/routes.ts";

const document = makeDocument(described, { tables: undefined, previews: PREVIEWS });
const findRoute = makeRouter<never>(described);

type Exchange = { method: string; target: string; status: number; code: unknown; headers: Headers };

/** Headers for programs that the description of a response names if the response has them. */
const NAMED = [
  ...["etag", "location", "idempotency-replayed", "preference-applied", "ratelimit", "retry-after"],
];

/** @throws {Error} the endpoint has no such status, or the status has no such code or header */
export function checkDescribed({ method, target, status, code, headers }: Exchange): void {
  const route = findRoute(method, splitTarget(target).path)?.route;
  // A path without an endpoint returns 404 or 405, which no endpoint describes.
  if (route === undefined || (status === 404 && code === "unknown_route")) return;
  // Without its preview, the path is that of a row.
  if (route.isAlsoValue === true && code === "invalid_id") return;
  const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
  const codes = codesOf(document, { path, method: route.method.toLowerCase(), status });
  const isKnown =
    codes !== undefined && (status < 400 || code === undefined || codes.includes(String(code)));
  if (!isKnown)
    throw new Error(`The description lacks ${route.method} ${path} -> ${status} ${String(code)}`);
  const named = headersOf(document, { path, method: route.method.toLowerCase(), status });
  for (const name of NAMED)
    if (headers.has(name) && !named.includes(name))
      throw new Error(
        `The description lacks the header ${name} of ${route.method} ${path} -> ${status}`,
      );
}

type Operation = { path: string; method: string; status: number };

/** Returns the codes of an endpoint's status: `undefined` for an unknown status, empty if the status is not a rejection. */
export function codesOf(of: Document, { path, method, status }: Operation): string[] | undefined {
  const response = findResponse(of, { path, method, status });
  if (response === undefined) return undefined;
  const content = Object(resolve(of, response)["content"])["application/json"];
  return Object.keys(Object(content).examples ?? {});
}

function headersOf(of: Document, operation: Operation): string[] {
  const { headers = {} } = resolve(of, findResponse(of, operation));
  return Object.keys(Object(headers)).map((name) => name.toLowerCase());
}

function findResponse(of: Document, { path, method, status }: Operation): unknown {
  return Object(Object(Object(of.paths[path])[method])["responses"])[String(status)];
}

/** The component that a response refers to; otherwise the response, which has no error codes. */
function resolve(of: Document, response: unknown): Record<string, unknown> {
  const name =
    String(Object(response)["$ref"] ?? "")
      .split("/")
      .at(-1) ?? "";
  return name === ""
    ? { headers: Object(response)["headers"] }
    : Object(of.components.responses[name]);
}
