/** Converts text to values of each column kind, for text-only files. The column's rules check the result. @module */
import type { Kind } from "../dsl/mod.ts";
import { parseExactJson } from "../std/exact_json.ts";
import { jsonDepth, MAX_BODY_DEPTH } from "../std/json_depth.ts";
import type { NumberReader } from "./number_text.ts";

/** The notation of a number in JSON. */
export const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const MOMENT =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)? ?(?:(Z|UTC)|([+-]\d\d)(?::?(\d\d))?(?: [A-Z]{2,5})?)$/i;

/** Notations of databases, and of spreadsheets in the languages that have their own. */
const TRUE =
  "true t yes y on 1 wahr vrai verdadero vero verdadeiro waar prawda sant sand sann tosi pravda igaz doğru истина";
const FALSE =
  "false f no n off 0 falsch faux falso onwaar fałsz falskt falsk usann epätosi nepravda hamis yanlış yanliş ложь";
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...TRUE.split(" ").map((text) => [text, true] as const),
  ...FALSE.split(" ").map((text) => [text, false] as const),
]);

/** The list of rows and the row are two levels of a request. */
const MAX_JSON_DEPTH = MAX_BODY_DEPTH - 2;

/** The place of a text in its file. */
export type TextContext = {
  readonly delimiter: string;
  readonly line: number;
  readonly column: string;
  readonly readNumber: NumberReader;
};

type TextValue = { readonly value: unknown } | { readonly issue: string };

/** The value of a text; the text itself if it is invalid, so that the column rejects it. */
export const TO_VALUE: Readonly<Record<Kind, (text: string, context: TextContext) => TextValue>> = {
  string: (value) => ({ value }),
  number: (written, context) => {
    const read = context.readNumber(written, context);
    if ("issue" in read) return read;
    return JSON_NUMBER.test(read.value) ? parse(read.value) : { value: written };
  },
  decimal: (text, context) => context.readNumber(text, context),
  boolean: (text) => ({ value: BOOLEANS.get(text.trim().normalize().toLowerCase()) ?? text }),
  uuid: (text) => ({ value: text.trim() }),
  timestamp: (text) => ({ value: toMoment(text.trim()) }),
  json: parse,
  enum: (value) => ({ value }),
  ref: (text) => ({ value: text.trim() }),
};

function parse(text: string): TextValue {
  if (jsonDepth(text) > MAX_JSON_DEPTH) return NOT_JSON;
  try {
    return { value: parseExactJson(text) };
  } catch {
    return NOT_JSON; // the parser's own message quotes the text
  }
}

const NOT_JSON = { issue: "Must be JSON" };

/** Accepts times with a space, without seconds, and with a zone's name after the offset, but never without an offset. */
export function toMoment(text: string): string {
  const [, day, minute, second = ":00", , hours, minutes = "00"] = MOMENT.exec(text) ?? [];
  if (day === undefined) return text;
  return `${day}T${minute}${second}${hours === undefined ? "Z" : `${hours}:${minutes}`}`;
}
