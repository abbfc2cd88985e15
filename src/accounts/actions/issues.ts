/** Collects the issues of several checks, so that a form shows all of them together. @module */
import { type Detail, Problem } from "../../problem.ts";

/** The details of a failed check; without details its message, for `path`. */
export function findIssues(check: () => unknown, path: string): readonly Detail[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.details ?? [{ path, message: error.message }];
  }
}

/** A rejection with these issues. The default message of the code is about HTTP requests. */
export function rejectFor(details: Detail[]): Problem {
  const [only] = details;
  if (only?.path === "" && details.length === 1)
    return new Problem("invalid_request", { message: only.message });
  return new Problem("invalid_request", { message: "Nothing was changed", details });
}
