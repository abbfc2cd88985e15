/** Reads the body of a write as JSON, and preserves every number exactly. @module */
import { parseJson } from "../http/mod.ts";
import { findReviver } from "../std/exact_json.ts";

/** @throws {Problem} invalid_json */
export function readJson(text: string): unknown {
  return parseJson(text, findReviver(text));
}
