/** Collects the issues of several checks, so that a form shows all of them together. @module */
import { type Detail, Problem } from "../../problem.ts";

/** The details of a failed check; if it has none, its message at `path`. */
export function findIssues(check: () => unknown, path: string): readonly Detail[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.details ?? [{ path, message: error.message }];
  }
}

/** A problem with these issues, and without the code's default message, which is about HTTP requests. */
export function rejectFor(details: Detail[]): Problem {
  const [only] = details;
  if (only?.path === "" && details.length === 1)
    return new Problem("invalid_request", { message: only.message });
  return new Problem("invalid_request", { message: "Nothing was changed", details });
}
