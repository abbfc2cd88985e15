/** Parses JSON with comments, as in tsconfig.json. @module */
import { tryParseJson } from "./json.ts";

const COMMENT = /("(?:\\.|[^"\\])*")|\/\/.*|\/\*[\s\S]*?\*\//g;
const FINAL_COMMA = /("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g;

/**
 * The value of JSON that can have comments and a comma after the last item, or `undefined` if the text is anything else.
 *
 * @example
 * ```ts
 * const text = '{ "include": ["src/*", ".rowhouse/*.d.ts",], // "files": []\n }';
 * expect(tryParseJsonc(text)).toEqual({ include: ["src/*", ".rowhouse/*.d.ts"] });
 * expect(tryParseJsonc("{")).toBeUndefined();
 * ```
 */
export function tryParseJsonc(text: string): unknown {
  return tryParseJson(text.replace(COMMENT, "$1").replace(FINAL_COMMA, "$1"));
}
