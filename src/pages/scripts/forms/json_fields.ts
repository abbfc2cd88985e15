/** Marks invalid JSON in a field while the user types. The server checks it again. @module */

import { element } from "../dom.ts";

export function startJsonFields(): void {
  document.addEventListener("input", ({ target }) => {
    if (!(target instanceof HTMLTextAreaElement) || !target.matches("[data-json]")) return;
    const issue = findIssue(target.value);
    target.setCustomValidity(issue);
    showIssue(target, issue);
  });
}

function showIssue(field: HTMLTextAreaElement, issue: string): void {
  const next = field.nextElementSibling;
  const line = next?.matches(".json-issue")
    ? next
    : element("p", { class: "issues json-issue", role: "status" });
  if (line !== next) field.after(line);
  if (line.textContent !== issue) line.textContent = issue;
}

/** The syntax error of a JSON text; empty if it is valid or missing. */
function findIssue(text: string): string {
  if (text.trim() === "") return "";
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return error instanceof Error ? `Invalid JSON: ${error.message}` : "Invalid JSON";
  }
}

// Splits JSON into tokens for highlighting, and escapes it, on the server and in the browser.

type JsonToken = {
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
