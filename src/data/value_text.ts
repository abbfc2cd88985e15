/** A value in a query string, read as a write would read it. @module */
import type { Kind, NamedColumn } from "../dsl/mod.ts";
import { type Read, readValue } from "../rows/mod.ts";
import { readJson } from "./read_json.ts";

/** A number as JSON writes it. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };

const asText = (text: string): unknown => text;
/** The JSON value of a text; a value of another kind than the column's if the text is invalid. */
const TO_JSON: Readonly<Record<Kind, (text: string) => unknown>> = {
  string: asText,
  number: (text) => (NUMBER.test(text) ? readJson(text) : text),
  decimal: asText,
  boolean: (text) => BOOLEANS[text],
  uuid: asText,
  timestamp: asText,
  json: asText,
  enum: asText,
  ref: asText,
};

/** The value, or what is wrong with it. */
export function readValueText(
  text: string,
  column: Pick<NamedColumn, "name" | "kind" | "required" | "values">,
): Read {
  return readValue(TO_JSON[column.kind](text), { ...column, unique: false, index: false });
}
