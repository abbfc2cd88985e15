/** Reads a value in a query string by the rules of a write. @module */
import type { Kind, NamedColumn } from "../dsl/mod.ts";
import { JSON_NUMBER, type Read, readValue } from "../rows/mod.ts";
import { readJson } from "./read_json.ts";

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };

const asText = (text: string): unknown => text;
/** The JSON value of a text; a value of another kind if the text is invalid. */
const TO_JSON: Readonly<Record<Kind, (text: string) => unknown>> = {
  string: asText,
  number: (text) => (JSON_NUMBER.test(text) ? readJson(text) : text),
  decimal: asText,
  boolean: (text) => BOOLEANS[text],
  uuid: asText,
  timestamp: asText,
  json: asText,
  enum: asText,
  ref: asText,
};

export function readValueText(
  text: string,
  column: Pick<NamedColumn, "name" | "kind" | "required" | "values">,
): Read {
  return readValue(TO_JSON[column.kind](text), { ...column, unique: false, index: false });
}
