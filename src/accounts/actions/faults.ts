/** What several checks find, so that a form is told every fault at once. @module */
import { type Detail, Problem } from "../../problem.ts";

/** The details of what a check refuses, or its sentence, of `path`. */
export function findFaults(check: () => unknown, path: string): readonly Detail[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.details ?? [{ path, message: error.message }];
  }
}

/** What is refused for these faults, or this one: the code's own words are about requests over HTTP. */
export function refuseFor(details: Detail[]): Problem {
  const [only] = details;
  if (only?.path === "" && details.length === 1)
    return new Problem("invalid_request", { message: only.message });
  return new Problem("invalid_request", { message: "Nothing was changed", details });
}
