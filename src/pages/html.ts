/**
 * HTML that is escaped by construction: what stands in a template is markup, what is put into it is text. Nothing else
 * makes an {@linkcode Html}, so a page cannot carry what somebody typed as markup.
 *
 * @module
 */

declare const escaped: unique symbol;

/** Finished markup. */
export type Html = { readonly markup: string; readonly [escaped]: true };
/** What may be put into a template: text is escaped, `undefined` and `false` are nothing. */
export type Part = string | number | Html | undefined | false | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Markup from a template; attribute values must stand in quotes. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const markup = texts.reduce((made, text, index) => made + toMarkup(parts[index - 1]) + text);
  return Object.freeze({ markup }) as Html;
}

function toMarkup(part: Part): string {
  if (part === undefined || part === false) return "";
  if (typeof part === "string" || typeof part === "number") return escapeText(String(part));
  if ("markup" in part) return part.markup;
  return part.map(toMarkup).join("");
}

/** Text with the five characters replaced that mean something in markup or in a quoted attribute. */
function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
