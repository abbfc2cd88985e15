/** A button that copies a text. It needs a script. @module */
import { type Html, html } from "./html.ts";

/** Copies the text of the element with this id; `what` names it to screen readers. */
export function renderCopyButton(id: string, what: string): Html {
  return html`<button class="button button-quiet button-small copy" type="button" data-copy="${id}" hidden><span data-label>Copy</span><span class="visually-hidden"> ${what}</span></button>`;
}
