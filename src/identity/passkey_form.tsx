/** @jsxImportSource #html @jsxRuntime automatic */
/** A form for passkeys. The script `passkey` shows the form, fills it in and sends it. @module */
import { type Html, type Part, renderForm } from "../pages/mod.ts";

/** The hidden field for the passkey's response. */
export const PASSKEY_FIELD = "passkey";

export type PasskeyForm = {
  action: string;
  token: string;
  /** `sign-in` also suggests passkeys in the page's fields; `new` creates a passkey. */
  kind: "sign-in" | "use" | "new";
  /** The options of the WebAuthn call, as JSON. */
  options: object;
  fields?: Part;
  button: Part;
  tone?: "primary" | "quiet";
};

export function renderPasskeyForm(form: PasskeyForm): Html {
  return renderForm({
    tone: "quiet",
    ...form,
    attributes: { "data-passkey": form.kind, "data-options": JSON.stringify(form.options) },
    hidden: { [PASSKEY_FIELD]: "" },
  });
}
