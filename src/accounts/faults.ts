/** What several checks find, so that a form is told every fault at once. @module */
import { type Detail, Problem } from "../problem.ts";

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
