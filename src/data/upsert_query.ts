/** The query parameters of an upsert. Pure. @module */

import { readParameters, unsupportedParameter } from "../http/mod.ts";
import { quote } from "../std/quote.ts";
import { ON_CONFLICT } from "./deps.ts";
import { invalid } from "./query/filter.ts";

/** What happens to rows that exist. */
export const EXISTING_VALUES = ["update", "ignore"] as const;

export type UpsertQuery = {
  /** The columns of a unique constraint, in any order. */
  readonly columns: readonly string[];
  readonly isIgnored: boolean;
};

/** @throws {Problem} unsupported_query — another parameter; invalid_query */
export function readUpsertQuery(query: string): UpsertQuery {
  const found = new Map<string, string>();
  for (const [name, value] of readParameters(query)) {
    if (name !== ON_CONFLICT && name !== "existing")
      throw unsupportedParameter(name, "creates have only onConflict and existing");
    if (found.has(name)) throw invalid(`Cannot read ${name}: it is given twice`);
    found.set(name, value);
  }
  const named = found.get(ON_CONFLICT);
  if (named === undefined) throw invalid("Cannot use existing without onConflict");
  const existing = found.get("existing") ?? "update";
  if (!EXISTING_VALUES.some((value) => value === existing))
    throw invalid(
      `Cannot read existing ${quote(existing)}: must be ${EXISTING_VALUES.join(" or ")}`,
    );
  return { columns: named.split(","), isIgnored: existing === "ignore" };
}
