/** Checks a rejection: the whole body, the headers of every rejection, and no text from PostgreSQL. @module */
import { expect } from "bun:test";
import { type Detail, PROBLEMS, type ProblemCode } from "../../src/problem.ts";

export type Rejection = {
  code: ProblemCode;
  /** Omitted: the caller compares the sentences with a snapshot. */
  message?: string;
  /** The paths of the details. */
  paths?: readonly string[];
  /** More expected headers. */
  headers?: Readonly<Record<string, string>>;
};

/** Returns the error code in a response's body; `undefined` if the body is not a rejection. */
export function codeOf(body: string): string | undefined {
  return body === "" ? undefined : (JSON.parse(body) as { error?: string }).error;
}

type Body = { error: string; requestId: string | null | undefined };
type Sentences = { message: string; details?: readonly Detail[] };
type Rejected = {
  status: number;
  headers: { get: (name: string) => string | null | undefined };
  body: string;
};

/** Names of constraints, schemas and functions, and SQLSTATEs. */
const POSTGRESQL_TEXT =
  /__(key|fkey|idx|pkey)|pg_catalog|data\.|duplicate|violates|constraint|2350/;

export function expectRejection(response: Rejected, wanted: Rejection): Sentences {
  const requestId = response.headers.get("x-request-id");
  const { message, details = [], ...body } = JSON.parse(response.body) as Sentences & Body;
  const found = { ...body, paths: details.map(({ path }) => path) };
  expect([response.status, found]).toEqual([
    PROBLEMS[wanted.code].status,
    { error: wanted.code, requestId, paths: [...(wanted.paths ?? [])] },
  ]);
  if (wanted.message !== undefined) expect(message).toBe(wanted.message);
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  const headers = {
    "content-type": "application/json",
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-cache, no-transform",
    vary: "Authorization, Accept-Encoding, Origin",
    ...wanted.headers,
  };
  for (const [name, value] of Object.entries(headers))
    expect([name, response.headers.get(name)]).toEqual([name, value]);
  // The digits of a request id can look like an SQLSTATE.
  expect(response.body.replace(requestId ?? "", "")).not.toMatch(POSTGRESQL_TEXT);
  return { message, ...(details.length > 0 && { details }) };
}
