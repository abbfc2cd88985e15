/** JSON responses, with the headers that every response has. @module */

import * as v from "valibot";
import type { Problem } from "../problem.ts";

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
