/** Reads a value in a query string by the rules of a write. @module */
import type { NamedColumn } from "../dsl/mod.ts";
import { type Read, VALUES } from "../kinds/mod.ts";
import { readValue } from "../rows/mod.ts";

export function readValueText(
  text: string,
  column: Pick<NamedColumn, "name" | "kind" | "required" | "values">,
): Read {
  const { fromQuery } = VALUES[column.kind];
  const value = fromQuery === undefined ? text : fromQuery(text);
  return readValue(value, { ...column, unique: false, index: false });
}
