/** What every rejection must be: the whole body, the headers that each carries, and no word of PostgreSQL's. @module */
import { expect } from "bun:test";
import { type Detail, PROBLEMS, type ProblemCode } from "../../src/problem.ts";

export type Rejection = {
  code: ProblemCode;
  message: string;
  details?: readonly Detail[];
  /** Further headers. */
  headers?: Readonly<Record<string, string>>;
};

/** The code of a rejection, from the text of its body; none where that is something else. */
export function codeOf(body: string): string | undefined {
  return body === "" ? undefined : (JSON.parse(body) as { error?: string }).error;
}

type Rejected = {
  status: number;
  headers: { get: (name: string) => string | null | undefined };
  body: string;
};

/** Names of constraints, schemas and functions, SQLSTATEs. */
const WORDS_OF_POSTGRESQL =
  /__(key|fkey|idx|pkey)|pg_catalog|data\.|duplicate|violates|constraint|2350/;

export function expectRejection(response: Rejected, wanted: Rejection): void {
  const requestId = response.headers.get("x-request-id");
  expect([response.status, JSON.parse(response.body)]).toEqual([
    PROBLEMS[wanted.code].status,
    {
      error: wanted.code,
      message: wanted.message,
      requestId,
      ...(wanted.details === undefined ? {} : { details: wanted.details }),
    },
  ]);
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  const headers = {
    "content-type": "application/json",
    "x-content-type-options": "nosniff",
    ...wanted.headers,
  };
  for (const [name, value] of Object.entries(headers))
    expect([name, response.headers.get(name)]).toEqual([name, value]);
  // Digits of a request's id may look like an SQLSTATE.
  expect(response.body.replace(requestId ?? "", "")).not.toMatch(WORDS_OF_POSTGRESQL);
}
