/** The error for functions from another release. @module */
import { Problem } from "../problem.ts";

/** @param cause PostgreSQL's error, if a call failed */
export function ofAnotherRelease(cause?: unknown): Problem {
  return new Problem("unavailable", {
    message:
      "The tables' functions are from another release: the operator must run rowhouse migrate",
    retryAfterS: 5,
    cause,
  });
}
