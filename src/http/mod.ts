/** HTTP: routes, bodies, responses. Independent of apps, tables and people. @module */

export {
  type BodyLimit,
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
  isNamed,
  listTags,
  type NamedTags,
  readIfMatch,
  readIfNoneMatch,
  readMatch,
  respondNotModified,
  respondTagged,
  type TaggedBody,
  tagHeader,
  toEncodingHeader,
} from "./conditional.ts";
export { readCookies, toSetCookie, withCookies } from "./cookies.ts";
export { corsHeaders, preflightHeaders } from "./cors.ts";
export {
  type CountStream,
  type EventStream,
  isEventStream,
  MAX_STREAMS,
  type MaxStreams,
  makeCountStream,
  makeStreamMemory,
  openEventStream,
  pumpEvents,
  type StreamMemory,
  type StreamOwners,
  streamOwnersOf,
} from "./event_stream.ts";
export {
  acceptsEventStream,
  acceptsHtml,
  acceptsJson,
  type Encoding,
  encodeBody,
  readEncoding,
} from "./negotiation.ts";
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
export { prefers, readParameters, rejectQuery, unsupportedParameter } from "./query.ts";
export {
  deprecationHeaders,
  EVENT_STREAM_HEADERS,
  KEEP_ALIVE_S,
  keyRejected,
  MAX_KEEP_ALIVE_S,
  MIN_KEEP_ALIVE_S,
  ProblemBody,
  type ResponseOptions,
  respondEmpty,
  respondWithBytes,
  respondWithJson,
  respondWithProblem,
  scopeMissing,
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
