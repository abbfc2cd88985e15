/** Splits JSON into tokens for highlighting, on the server and in the browser. @module */

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
