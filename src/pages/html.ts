/**
 * HTML that is escaped by construction: a template is markup, and inserted values are text. Only templates create an
 * {@linkcode Html}, so input never becomes markup.
 *
 * @module
 */

declare const escaped: unique symbol;

export type Html = { readonly markup: string; readonly [escaped]: true };
/** A value in a template: text is escaped, `undefined` and `false` insert nothing. */
export type Part = string | number | Html | undefined | false | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Markup from a template; attribute values must be quoted. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const markup = texts.reduce(
    (created, text, index) => created + toMarkup(parts[index - 1]) + text,
  );
  return Object.freeze({ markup }) as Html;
}

function toMarkup(part: Part): string {
  if (part === undefined || part === false) return "";
  if (typeof part === "string" || typeof part === "number") return escapeText(String(part));
  if ("markup" in part) return part.markup;
  return part.map(toMarkup).join("");
}

/** Escapes the five characters with a meaning in markup or in a quoted attribute. */
function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
