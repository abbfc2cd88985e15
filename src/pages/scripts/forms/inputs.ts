/**
 * Help while the user types into a field: JSON with its errors and colors, the choice of NULL, suggested people, and the name
 * that confirms a deletion. The server checks everything again.
 *
 * @module
 */

import { element, requestPage } from "../dom.ts";

// Marks invalid JSON in a field while the user types. The server checks it again.

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

// The choice of NULL in a field, as a checkbox or an option. Typing clears the checkbox.

const BOX = "input[data-null]";

export function startNullChoices(): void {
  document.addEventListener("input", ({ target }) => {
    if (!(target instanceof HTMLElement) || target.matches(BOX)) return;
    clearNull(target.closest("[data-field]"));
  });
}

export function clearNull(field: Element | null): void {
  const box = field?.querySelector<HTMLInputElement>(BOX);
  if (box) box.checked = false;
}

/** Selects NULL in a field; returns whether the field allows it. */
export function chooseNull(field: Element | null): boolean {
  const box = field?.querySelector<HTMLInputElement>(BOX);
  const entry = field?.querySelector<HTMLOptionElement>("option[value=null]");
  const text = field?.querySelector<HTMLTextAreaElement | HTMLInputElement>(
    "textarea, input[type=text]",
  );
  if (box) box.checked = true;
  // A text next to a box that was not ticked before is intended.
  if (box && text) text.value = "";
  if (entry) entry.selected = true;
  return Boolean(box ?? entry);
}

// Suggests people, apps, tables or keys that the search finds by the typed text.

const PAUSE_MS = 150;

export function startLookups(root: ParentNode = document): void {
  for (const input of root.querySelectorAll<HTMLInputElement>("input[data-lookup]")) start(input);
}

function start(input: HTMLInputElement): void {
  const list = element("datalist", { id: `${input.id}-found` });
  input.after(list);
  input.setAttribute("list", list.id);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = "";
  const ask = async () => {
    asked = input.value;
    const of = input.dataset["lookup"] ?? "";
    const response = await requestPage(`/console/find?${new URLSearchParams({ q: asked, of })}`);
    if (asked !== input.value) return;
    const found = response.page.querySelectorAll(`[data-found=${input.dataset["lookup"]}] a`);
    list.replaceChildren(...[...found].map(toOption));
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    // Ignores failed requests: the form can be sent without suggestions.
    timer = setTimeout(() => void ask().catch(() => undefined), PAUSE_MS);
  });
  // The first of all, to choose from.
  input.addEventListener("focus", () => void ask().catch(() => undefined), { once: true });
}

function toOption(link: Element): HTMLOptionElement {
  const name = link.textContent ?? "";
  const value = link.getAttribute("data-email") ?? name;
  const detail = link.nextElementSibling?.textContent?.trim() ?? "";
  const label = name === value ? `${name} ${detail}`.trim() : `${name} (${value})`;
  return element("option", { value, ...(label === value ? {} : { label }) });
}

// Enables the button of a permanent deletion after the name is typed. The server checks it again.

export function startTypedNames(root: ParentNode = document): void {
  for (const field of root.querySelectorAll<HTMLInputElement>("input[data-must-be]")) {
    const button = field.form?.querySelector<HTMLButtonElement>("button[type=submit]");
    const check = () => {
      if (button) button.disabled = field.value !== field.dataset["mustBe"];
    };
    field.addEventListener("input", check);
    // Browsers can restore the fields of a page from history.
    addEventListener("pageshow", check);
    check();
  }
}
