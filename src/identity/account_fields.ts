/** The email and password fields of all forms. @module */
import { type Field, type Html, renderField } from "../pages/mod.ts";
import { EMAIL_MAX_CHARS } from "../std/stored_text.ts";
import { MAX_BYTES } from "./password.ts";

/** With `hasPasskeys` the browser also suggests passkeys in the field. */
export function renderEmailField({
  hasPasskeys = false,
  ...field
}: Pick<Field, "value" | "issues" | "isFirst" | "isFixed"> & { hasPasskeys?: boolean }): Html {
  return renderField({
    name: "email",
    label: "Email address",
    type: "email",
    autocomplete: hasPasskeys ? "username webauthn" : "username",
    maxLength: EMAIL_MAX_CHARS,
    ...field,
  });
}

export function renderPasswordField(field: Omit<Field, "type" | "maxLength">): Html {
  return renderField({ type: "password", maxLength: MAX_BYTES, ...field });
}
