/**
 * HTML that is escaped by construction, written as JSX: the compiler turns an element into a call of {@linkcode jsx}, which
 * escapes text and attributes. Only elements create an {@linkcode Html}, so input never becomes markup.
 *
 * A file with markup starts with the two pragmas: Bun ignores a tsconfig.json in node_modules, and would read that of the
 * user's project.
 *
 * @module
 */
import { type Elements, EMPTY } from "./elements.ts";

/** Only this file has the symbol, so an object from JSON with a field `markup` is not markup. */
const ESCAPED = Symbol("escaped");

export type Html = { readonly markup: string; readonly [ESCAPED]: true };

/** A child of an element: text is escaped; `undefined`, `null` and `false` insert nothing. */
export type Part = string | number | Html | undefined | null | false | readonly Part[];

type Props = Readonly<Record<string, unknown>> & { readonly children?: Part };

export function jsx(element: string | ((props: Props) => Html), props: Props): Html {
  if (typeof element === "function") return element(props);
  let markup = element === "html" ? "<!doctype html><html" : `<${element}`;
  for (const name in props) if (name !== "children") markup += toAttribute(name, props[name]);
  if (EMPTY.has(element)) return toHtml(`${markup}>`);
  // Browsers drop the first line break of a text area.
  const start = element === "textarea" ? ">\n" : ">";
  return toHtml(`${markup}${start}${toMarkup(props.children)}</${element}>`);
}
export { jsx as jsxDEV, jsx as jsxs };

/** `<>…</>`: parts without an element around them. */
export function Fragment({ children }: { readonly children?: Part }): Html {
  return toHtml(toMarkup(children));
}

/** For the compiler. */
export declare namespace JSX {
  type Element = Html;
  type IntrinsicElements = Elements<Part>;
  type ElementChildrenAttribute = { children: unknown };
}

function toHtml(markup: string): Html {
  return Object.freeze({ markup, [ESCAPED]: true as const });
}

/** A flag has no value; `undefined`, `null` and `false` omit the attribute. */
function toAttribute(name: string, value: unknown): string {
  if (!/^[a-z][a-z-]*$/i.test(name)) throw new Error(`Invalid name of an attribute: ${name}`);
  if (value === undefined || value === null || value === false) return "";
  return value === true ? ` ${name}` : ` ${name}="${escapeText(String(value))}"`;
}

function toMarkup(part: Part): string {
  if (part === undefined || part === null || part === false) return "";
  if (typeof part === "string" || typeof part === "number") return escapeText(String(part));
  return ESCAPED in part ? part.markup : part.map(toMarkup).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes the five characters with a meaning in markup or in a quoted attribute. */
function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
