/** JSON responses, with the headers that every response has. @module */

import * as v from "valibot";
import type { Scope } from "../principal.ts";
import { Problem } from "../problem.ts";
import type { Operation, OperationParameter } from "./operation.ts";

const JSON_TYPE = "application/json";

export type ResponseOptions = { status?: number; headers?: Record<string, string> };

/**
 * The headers of an event stream. A proxy or middleware must neither store the stream nor collect its events: nginx buffers,
 * and others compress.
 */
export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** Holds the body size of a response. */
const SIZE = Symbol("bytes");

/** The body size in bytes of a response that this module created; `undefined` for other responses. */
export function sizeOf(response: Response & { [SIZE]?: number }): number | undefined {
  return response[SIZE];
}

/** A response with finished JSON: the database's bytes are neither parsed nor decoded. */
export function respondWithBytes(
  bytes: Uint8Array<ArrayBuffer>,
  options: ResponseOptions = {},
): Response {
  const { status = 200, headers } = options;
  const response: Response & { [SIZE]?: number } = new Response(toBody(bytes), {
    status,
    headers: { "content-type": JSON_TYPE, ...headers },
  });
  response[SIZE] = bytes.length;
  return response;
}

/** Bun sends the head and a body of up to this size in one buffer. */
const MAX_ASSEMBLED_BYTES = 15_360;

/**
 * Bytes as a response body. After an async handler, Bun sends the head of a response with a larger body in dozens of packets,
 * which lasts several times as long as the rest. A stream avoids that.
 *
 * @see https://github.com/oven-sh/bun/pull/41341
 */
export function toBody(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | ReadableStream {
  if (bytes.length <= MAX_ASSEMBLED_BYTES) return bytes;
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

export function respondWithJson(value: unknown, options: ResponseOptions = {}): Response {
  return respondWithBytes(new TextEncoder().encode(JSON.stringify(value)), options);
}

export function respondEmpty(options: ResponseOptions = {}): Response {
  return new Response(null, { status: options.status ?? 204, headers: options.headers ?? {} });
}

export type ProblemBody = v.InferOutput<typeof ProblemBody>;
export const ProblemBody = v.object({
  error: v.pipe(v.string(), v.description("The stable error code, for programs.")),
  message: v.pipe(v.string(), v.description("What failed and what to do, for people.")),
  requestId: v.pipe(
    v.string(),
    v.description("The value of `X-Request-Id`, which also appears in the log."),
  ),
  details: v.exactOptional(
    v.pipe(
      v.array(
        v.object({
          path: v.pipe(
            v.string(),
            v.description(
              "A JSON pointer into the request body; in the definition of a push, names stand for positions.",
            ),
          ),
          message: v.pipe(v.string(), v.description("The validation error, for people.")),
        }),
      ),
      v.description("The validation error of each field."),
    ),
  ),
});

/** The response for a problem: code, message, request id and, for invalid fields, all details. */
export function respondWithProblem(
  problem: Problem,
  requestId: string,
  message = problem.message,
): Response {
  const body: ProblemBody = {
    error: problem.code,
    message,
    requestId,
    ...(problem.details === undefined ? {} : { details: problem.details }),
  };
  return respondWithJson(body, { status: problem.status, headers: problem.headers });
}

// The responses to a key that is invalid, whether the gateway or the database rejects it, or lacks
// a scope.

/** A 401 with its `WWW-Authenticate`. */
export function keyRejected(cause?: unknown): Problem {
  return new Problem("unauthenticated", {
    message: "Send a valid API key as Authorization: Bearer <API_KEY>",
    headers: { "www-authenticate": "Bearer" },
    cause,
  });
}

/** A 403 that names the scope that the key lacks. */
export function scopeMissing(scope: Scope): Problem {
  const name = scope === "schema:read" ? `${scope}, which schema:push includes` : scope;
  return new Problem("forbidden", {
    message: `This key lacks the scope ${name}: use a key that has it, because the scopes of a key cannot be changed`,
  });
}

// How long connections stay open between requests.

/**
 * Longer than the 60 s of AWS and nginx, so that the balancer closes a connection first, never during a request. Longer than
 * all other deadlines of the service, because the limit also holds while a request is handled. Bun's limit is 255.
 */
export const KEEP_ALIVE_S = 75;

// The `Deprecation` and `Sunset` headers of responses to callers that use deprecated parts of the
// API. @see https://www.rfc-editor.org/rfc/rfc9745 @see https://www.rfc-editor.org/rfc/rfc8594

/** Link to the deprecation policy. */
const RULE = '</docs/versioning.md>; rel="deprecation"; type="text/markdown"';

/** The headers of a response; empty if the request uses nothing deprecated. */
export function deprecationHeaders(
  operation: Operation | undefined,
  sent: { headers: Headers; query: string },
): Record<string, string> {
  const { parameters = [] } = operation ?? {};
  const used = parameters.filter(
    (parameter) => parameter.deprecated !== undefined && isSent(parameter, sent),
  );
  const found = [operation, ...used].flatMap((part) => part?.deprecated ?? []);
  const [since] = found.map((deprecation) => deprecation.since).sort();
  if (since === undefined) return {};
  const [until] = found.flatMap((deprecation) => deprecation.until ?? []).sort();
  return {
    deprecation: `@${Date.parse(since) / 1000}`,
    ...(until === undefined ? {} : { sunset: new Date(until).toUTCString() }),
    link: RULE,
  };
}

/** A parameter in the path is always sent. */
function isSent(
  parameter: OperationParameter,
  { headers, query }: { headers: Headers; query: string },
): boolean {
  if (parameter.in === "query") return new URLSearchParams(query).has(parameter.name);
  return parameter.in === "path" || headers.has(parameter.name);
}
