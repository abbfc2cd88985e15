/** The body of a write as a JSON value in which every number is exactly what was sent. @module */
import { parseJson } from "../http/mod.ts";
import { findReviver } from "../std/exact_json.ts";

/** @throws {Problem} invalid_json */
export function readJson(text: string): unknown {
  return parseJson(text, findReviver(text));
}
