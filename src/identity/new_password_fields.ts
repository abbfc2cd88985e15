/** A new password on a form, typed twice: the two fields, and what is wrong with what was typed. @module */
import type { Html } from "../pages/mod.ts";
import { renderPasswordField } from "./account_fields.ts";
import { findPasswordFaults, PASSWORD_HINT } from "./password.ts";

/** What was typed; a browser that sends no second field has typed it once. */
export type NewPassword = { password: string; again: string };
export type NewPasswordFaults = { password: string[]; again: string[] };

export function readNewPassword(fields: ReadonlyMap<string, string>): NewPassword {
  const password = fields.get("password") ?? "";
  return { password, again: fields.get("password_again") ?? password };
}

/** Every fault of both; `names` are words connected with the person. */
export function findNewPasswordFaults(
  { password, again }: NewPassword,
  names: readonly string[],
): NewPasswordFaults {
  return {
    password: findPasswordFaults(password, names),
    again: again === password ? [] : ["The two passwords differ."],
  };
}

export function renderNewPasswordFields(
  faults: NewPasswordFaults,
  options: { isFirst: boolean },
): Html[] {
  return [
    renderPasswordField({
      name: "password",
      label: "New password",
      autocomplete: "new-password",
      hint: PASSWORD_HINT,
      faults: faults.password,
      isFirst: options.isFirst,
    }),
    renderPasswordField({
      name: "password_again",
      label: "New password again",
      autocomplete: "new-password",
      faults: faults.again,
    }),
  ];
}
