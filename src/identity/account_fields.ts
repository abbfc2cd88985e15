/** The fields with which people sign in, the same on every form. @module */
import { type Field, type Html, renderField } from "../pages/mod.ts";
import { EMAIL_MAX_CHARS } from "../std/stored_text.ts";
import { MAX_BYTES } from "./password.ts";

export function renderEmailField(
  field: Pick<Field, "value" | "faults" | "isFirst" | "isFixed">,
): Html {
  return renderField({
    name: "email",
    label: "Email address",
    type: "email",
    autocomplete: "username",
    maxLength: EMAIL_MAX_CHARS,
    ...field,
  });
}

export function renderPasswordField(field: Omit<Field, "type" | "maxLength">): Html {
  return renderField({ type: "password", maxLength: MAX_BYTES, ...field });
}
