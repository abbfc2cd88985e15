/** Sentences of a description on a page. @module */
import { type Html, html, splitJson } from "../../pages/mod.ts";
import { printJson } from "./sample.ts";

/** Text whose words between backticks are code; it cannot turn the direction of what is around it. */
export function renderProse(text: string): Html {
  const parts = text.split("`");
  return html`<bdi>${parts.map((part, place) => (place % 2 === 1 ? html`<code>${part}</code>` : part))}</bdi>`;
}

/** A value as JSON over several lines, its parts coloured. */
export function renderJson(value: unknown): Html {
  const tokens = splitJson(printJson(value, 2));
  return html`${tokens.map(({ kind, text }) => (kind === undefined || kind === "name" ? text : html`<span class="json-${kind}">${text}</span>`))}`;
}
