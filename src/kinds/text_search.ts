/** How the Console finds a text in columns of texts and of JSON. @module */
import { listSpellings } from "../std/letter_case.ts";
import { escapePattern } from "./like.ts";

/** The tests that find a text in a text, in any spelling. */
export function toTextTests(text: string): object[] {
  return listSpellings(text).map((spelling) => ({ ilike: `*${escapePattern(spelling)}*` }));
}
