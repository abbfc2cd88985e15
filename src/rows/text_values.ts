/** Converts text to values of each column kind, for text-only files. The column's rules check the result. @module */
import type { Kind } from "../dsl/mod.ts";
import { parseExactJson } from "../std/exact_json.ts";
import { jsonDepth, MAX_BODY_DEPTH } from "../std/json_depth.ts";

/** The notation of a number in JSON. */
export const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const MOMENT =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)? ?(?:(Z|UTC)|([+-]\d\d)(?::?(\d\d))?(?: [A-Z]{2,5})?)$/i;

/** Notations of databases and spreadsheets. */
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  t: true,
  yes: true,
  "1": true,
  false: false,
  f: false,
  no: false,
  "0": false,
};

/** The list of rows and the row are two levels of a request. */
const MAX_JSON_DEPTH = MAX_BODY_DEPTH - 2;
export const NOT_JSON = Symbol("text that is not JSON");

/** The value of a text; the text itself if it is invalid, so that the column rejects it. */
export const TO_VALUE: Readonly<Record<Kind, (text: string) => unknown>> = {
  string: (text) => text,
  number: (text) => (JSON_NUMBER.test(text.trim()) ? parse(text.trim()) : text),
  decimal: (text) => text.trim(),
  boolean: (text) => BOOLEANS[text.trim().toLowerCase()] ?? text,
  uuid: (text) => text.trim(),
  timestamp: (text) => toMoment(text.trim()),
  json: (text) => parse(text),
  enum: (text) => text,
  ref: (text) => text.trim(),
};

function parse(text: string): unknown {
  if (jsonDepth(text) > MAX_JSON_DEPTH) return NOT_JSON;
  try {
    return parseExactJson(text);
  } catch {
    return NOT_JSON; // the parser's own message quotes the text
  }
}

/** Accepts times with a space, without seconds, and with a zone's name after the offset, but never without an offset. */
export function toMoment(text: string): string {
  const [, day, minute, second = ":00", , hours, minutes = "00"] = MOMENT.exec(text) ?? [];
  if (day === undefined) return text;
  return `${day}T${minute}${second}${hours === undefined ? "Z" : `${hours}:${minutes}`}`;
}
