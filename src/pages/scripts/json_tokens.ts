/** Splits JSON into tokens for highlighting, and escapes it, on the server and in the browser. @module */

export type JsonToken = {
  readonly kind: "name" | "text" | "value" | undefined;
  readonly text: string;
};

/** A string before a colon is a name. */
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

/** The parts of a JSON text. Concatenated, they are the text. */
export function splitJson(json: string): JsonToken[] {
  const tokens: JsonToken[] = [];
  let end = 0;
  for (const match of json.matchAll(TOKENS)) {
    const [whole, quoted, colon] = match;
    const text = quoted ?? whole;
    if (match.index > end) tokens.push({ kind: undefined, text: json.slice(end, match.index) });
    tokens.push({ kind: toKind(quoted, colon), text });
    end = match.index + text.length;
  }
  if (end < json.length) tokens.push({ kind: undefined, text: json.slice(end) });
  return tokens;
}

function toKind(quoted: string | undefined, colon: string | undefined): JsonToken["kind"] {
  if (quoted === undefined) return "value";
  return colon === undefined ? "text" : "name";
}

/**
 * Escapes the characters of a JSON text that change the direction of text or break a line.
 *
 * @see https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
 */
export function escapeTurns(json: string): string {
  return json.replace(
    /[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
