/** Checks that the OpenAPI document describes a response. Every HTTP test calls it. @module */
import { makeRouter, splitTarget } from "../../src/http/mod.ts";
import { type Document, makeDocument } from "../../src/openapi/mod.ts";
import { PREVIEWS } from "../../src/preview.ts";
import { routes } from "../../src/service/routes.ts";

const document = makeDocument(routes, { tables: undefined, previews: PREVIEWS });
const findRoute = makeRouter<never>(routes);

type Exchange = { method: string; target: string; status: number; code: unknown };

/** @throws {Error} the endpoint has no such status, or the status has no such code */
export function checkDescribed({ method, target, status, code }: Exchange): void {
  const route = findRoute(method, splitTarget(target).path)?.route;
  // A path without an endpoint returns 404 or 405, which no endpoint describes.
  if (route === undefined || (status === 404 && code === "unknown_route")) return;
  const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
  const codes = codesOf(document, { path, method: route.method.toLowerCase(), status });
  const isKnown =
    codes !== undefined && (status < 400 || code === undefined || codes.includes(String(code)));
  if (!isKnown)
    throw new Error(`The description lacks ${route.method} ${path} -> ${status} ${String(code)}`);
}

type Operation = { path: string; method: string; status: number };

/** Returns the codes of an endpoint's status: `undefined` for an unknown status, empty if the status is not a rejection. */
export function codesOf(of: Document, { path, method, status }: Operation): string[] | undefined {
  const responses = Object(Object(of.paths[path])[method])["responses"];
  const response = Object(responses)[String(status)];
  if (response === undefined) return undefined;
  const name =
    String(Object(response)["$ref"] ?? "")
      .split("/")
      .at(-1) ?? "";
  const content = Object(Object(of.components.responses[name])["content"])["application/json"];
  return Object.keys(Object(content).examples ?? {});
}
