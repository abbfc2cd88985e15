/** What the database says where the login that pushes is a wrong one: the operator's mistake, and no bug. @module */
import { readSqlState } from "../db/mod.ts";
import { Problem } from "../problem.ts";

/** It does not let the login in, or lets it in and not push; or its database has no tables of the service. */
const WRONG_LOGIN = ["28000", "28P01", "3D000", "42501", "3F000", "42P01", "42883"];

/**
 * A refusal if the first statement of a push fails in such a way. Without `Retry-After`: it lasts until the operator has
 * corrected the setting.
 */
export function toLoginRefusal(error: unknown): Problem | undefined {
  if (!WRONG_LOGIN.includes(readSqlState(error) ?? "")) return undefined;
  return new Problem("unavailable", {
    message:
      "The login of ADMIN_DATABASE_URL cannot push here: the service's operator must correct it (run rowhouse doctor for details)",
    cause: error instanceof Problem ? error.cause : error,
  });
}
