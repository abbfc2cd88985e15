/** HTTP: routes, bodies, responses. Independent of apps, tables and people. @module */
export { acceptsEventStream, acceptsHtml, acceptsJson } from "./accept.ts";
export {
  checkJsonBody,
  checkObject,
  hasUnreadBody,
  parseJson,
  readBody,
  readForm,
  readText,
} from "./body.ts";
export {
  compressResponse,
  respondNotModified,
  respondTagged,
  type TaggedBody,
  toEncodingHeader,
} from "./conditional.ts";
export { readCookies, toSetCookie, withCookies } from "./cookies.ts";
export { corsHeaders, preflightHeaders } from "./cors.ts";
export { deprecationHeaders } from "./deprecation.ts";
export { type Encoding, encodeBody, readEncoding } from "./encoding.ts";
export {
  type EventStream,
  isEventStream,
  makeStreamMemory,
  openEventStream,
  pumpEvents,
  type StreamMemory,
} from "./event_stream.ts";
export { KEEP_ALIVE_S, MAX_KEEP_ALIVE_S, MIN_KEEP_ALIVE_S } from "./keep_alive.ts";
export { keyRejected, scopeMissing } from "./key_rejected.ts";
export {
  type Deprecation,
  IF_NONE_MATCH,
  type JsonSchema,
  NOT_MODIFIED,
  OPERATION_GROUPS,
  type Operation,
  type OperationParameter,
  type OperationResponse,
  RESPONSE_HEADERS,
  type Shape,
  TAGS_SCHEMA,
  type TableShape,
} from "./operation.ts";
export {
  isNamed,
  listTags,
  type NamedTags,
  readIfMatch,
  readIfNoneMatch,
  tagHeader,
} from "./preconditions.ts";
export { prefers } from "./preferences.ts";
export { readParameters, rejectQuery, unsupportedParameter } from "./query.ts";
export {
  EVENT_STREAM_HEADERS,
  ProblemBody,
  type ResponseOptions,
  respondEmpty,
  respondWithBytes,
  respondWithJson,
  respondWithProblem,
  sizeOf,
  toBody,
} from "./respond.ts";
export {
  type KeyRequestContext,
  type KeyRoute,
  type Match,
  makeRouter,
  type OptionalKeyContext,
  type RequestContext,
  type Route,
  type Router,
  splitTarget,
  toTarget,
  VIRTUAL_HOSTS,
  type VirtualHost,
} from "./router.ts";
export {
  type CountStream,
  MAX_STREAMS,
  type MaxStreams,
  makeCountStream,
  type StreamOwners,
} from "./stream_counts.ts";
