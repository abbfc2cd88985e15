/** Answers: JSON with the headers that every answer of the house carries. @module */
import type { Problem } from "../problem.ts";

const JSON_TYPE = "application/json";

export type AnswerOptions = { status?: number; headers?: Record<string, string> };

const sizes = new WeakMap<Response, number>();

/** Bytes of an answer's body that was made here; `undefined` of any other. */
export function sizeOf(response: Response): number | undefined {
  return sizes.get(response);
}

/** An answer whose body is JSON text that is already finished: what the database returned is passed on unparsed. */
export function answerText(text: string, options: AnswerOptions = {}): Response {
  const response = new Response(text, {
    status: options.status ?? 200,
    headers: { "content-type": JSON_TYPE, ...options.headers },
  });
  sizes.set(response, Buffer.byteLength(text));
  return response;
}

/** An answer with a value as JSON. */
export function answerJson(value: unknown, options: AnswerOptions = {}): Response {
  return answerText(JSON.stringify(value), options);
}

/** An answer without a body. */
export function answerEmpty(options: AnswerOptions = {}): Response {
  return new Response(null, { status: options.status ?? 204, headers: options.headers ?? {} });
}

/** A problem as its answer: code, sentence, request id and, where a field is to blame, all details at once. */
export function answerProblem(problem: Problem, requestId: string): Response {
  const body = {
    error: problem.code,
    message: problem.message,
    requestId,
    ...(problem.details === undefined ? {} : { details: problem.details }),
  };
  return answerJson(body, { status: problem.status, headers: problem.headers });
}
