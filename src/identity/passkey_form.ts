/** A form that a browser's passkey fills in and sends; the script of these pages does that, and shows the form. @module */
import { type Html, html, type Part } from "../pages/mod.ts";
import { TOKEN_FIELD } from "./form_token.ts";

/** The hidden field that the script puts the passkey's answer into. */
export const PASSKEY_FIELD = "passkey";

export type PasskeyForm = {
  action: string;
  token: string;
  /** `sign-in` offers passkeys in the page's fields, too; `new` makes one. */
  kind: "sign-in" | "use" | "new";
  /** The options of the browser's call, as the W3C's JSON. */
  options: object;
  /** What stands above the button. */
  fields?: Part;
  button: Part;
  look?: "primary" | "quiet";
};

export function renderPasskeyForm(form: PasskeyForm): Html {
  return html`<form method="post" action="${form.action}" data-passkey="${form.kind}" data-options="${JSON.stringify(form.options)}">
<input type="hidden" name="${TOKEN_FIELD}" value="${form.token}">
<input type="hidden" name="${PASSKEY_FIELD}" value="">
${form.fields}
<button class="button button-${form.look ?? "quiet"}" type="submit">${form.button}</button>
</form>`;
}
