/** HTTP: routes, bodies, responses. Independent of apps, tables and people. @module */

export * from "./body.ts";
export * from "./conditional.ts";
export { readCookies, toSetCookie, withCookies } from "./cookies.ts";
export { corsHeaders, preflightHeaders } from "./cors.ts";
export * from "./deprecation.ts";
export * from "./event_stream.ts";
export * from "./keep_alive.ts";
export * from "./key_problems.ts";
export {
  acceptsEventStream,
  acceptsHtml,
  acceptsJson,
  type Encoding,
  encodeBody,
  readEncoding,
} from "./negotiation.ts";
export * from "./operation.ts";
export * from "./port.ts";
export { prefers } from "./prefer.ts";
export { ofParameter, readParameters, rejectQuery, unsupportedParameter } from "./query.ts";
export * from "./respond.ts";
export * from "./router.ts";
export * from "./socket_limit.ts";
export * from "./stream_count.ts";
