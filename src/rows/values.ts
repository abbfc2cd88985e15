/** Reads values of requests and files by the rules of their columns. Finds all errors: PostgreSQL would report only the first. @module */

import { type Read, VALUES } from "../kinds/mod.ts";
import type { NamedColumn } from "../schema/mod.ts";

/** The error for null in a required column, found here or by the database. */
export const REQUIRED = "Must not be null: the column is required";

/** Reads one value of a column; `null` clears an optional column. */
export function readValue(
  value: unknown,
  column: Pick<NamedColumn, "kind" | "required" | "values">,
): Read {
  if (value !== null) return VALUES[column.kind].read(value, column);
  return column.required ? { issue: REQUIRED } : { value };
}
