/** The refusal of a release that meets functions of another one. @module */
import { Problem } from "../problem.ts";

/** @param cause what PostgreSQL said, where a call showed it */
export function ofAnotherRelease(cause?: unknown): Problem {
  return new Problem("unavailable", {
    message:
      "The tables' functions were made by another release: the operator must run rowhouse migrate",
    retryAfterS: 5,
    cause,
  });
}
