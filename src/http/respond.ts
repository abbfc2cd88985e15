/** Answers: JSON, with the headers that every answer of the service has. @module */
import type { Problem } from "../problem.ts";

const JSON_TYPE = "application/json";

export type AnswerOptions = { status?: number; headers?: Record<string, string> };

/** Where an answer keeps the size of its body. */
const SIZE = Symbol("bytes");

/** The size in bytes of an answer's body that was made here; `undefined` for any other. */
export function sizeOf(response: Response & { [SIZE]?: number }): number | undefined {
  return response[SIZE];
}

/** An answer whose body is finished JSON: the database's bytes are passed on, neither parsed nor decoded. */
export function answerBytes(bytes: Uint8Array<ArrayBuffer>, options: AnswerOptions = {}): Response {
  const { status = 200, headers } = options;
  const response: Response & { [SIZE]?: number } = new Response(toBody(bytes), {
    status,
    headers: { "content-type": JSON_TYPE, ...headers },
  });
  response[SIZE] = bytes.length;
  return response;
}

/** Bun assembles the head and a body of up to this size in one buffer. */
const MAX_ASSEMBLED_BYTES = 15_360;

/**
 * Bytes as the body of an answer. Where a handler has waited for something, Bun sends the head of an answer with a larger
 * body in dozens of packets, one for each half of a header, which takes several times as long as all else; but not that of a stream.
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

/** An answer with a value as JSON. */
export function answerJson(value: unknown, options: AnswerOptions = {}): Response {
  return answerBytes(new TextEncoder().encode(JSON.stringify(value)), options);
}

/** An answer without a body. */
export function answerEmpty(options: AnswerOptions = {}): Response {
  return new Response(null, { status: options.status ?? 204, headers: options.headers ?? {} });
}

/** The answer for a problem: code, sentence, request id and, if fields are at fault, all details at once. */
export function answerProblem(
  problem: Problem,
  requestId: string,
  message = problem.message,
): Response {
  const body = {
    error: problem.code,
    message,
    requestId,
    ...(problem.details === undefined ? {} : { details: problem.details }),
  };
  return answerJson(body, { status: problem.status, headers: problem.headers });
}
