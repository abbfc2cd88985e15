/** HTTP: routes, bodies, responses. Independent of apps, tables and people. @module */

export * from "./body.ts";
export * from "./conditional.ts";
export { readCookies, toSetCookie, withCookies } from "./cookies.ts";
export { corsHeaders, preflightHeaders } from "./cors.ts";
export * from "./event_stream.ts";
export {
  acceptsEventStream,
  acceptsHtml,
  acceptsJson,
  type Encoding,
  encodeBody,
  readEncoding,
} from "./negotiation.ts";
export * from "./operation.ts";
export {
  ofParameter,
  prefers,
  readParameters,
  rejectQuery,
  unsupportedParameter,
} from "./query.ts";
export * from "./respond.ts";
export * from "./router.ts";
