/** The error for a wrong login of pushes: a mistake of the operator, not a bug. @module */
import { readSqlState } from "../db/mod.ts";
import { Problem } from "../problem.ts";

/** Errors of a rejected login, missing rights, or a database without the service's tables. */
const WRONG_LOGIN = ["28000", "28P01", "3D000", "42501", "3F000", "42P01", "42883"];

/**
 * A Problem if the first statement of a push fails with such an error. Without `Retry-After`: the error lasts until the
 * operator corrects the setting.
 */
export function toLoginRejection(error: unknown): Problem | undefined {
  if (!WRONG_LOGIN.includes(readSqlState(error) ?? "")) return undefined;
  return new Problem("unavailable", {
    message:
      "The login of ADMIN_DATABASE_URL cannot push here: the service's operator must correct it (run rowhouse doctor for details)",
    cause: error instanceof Problem ? error.cause : error,
  });
}
