/** The two fields of a new password on a form, and their validation. @module */
import type { Html } from "../pages/mod.ts";
import { renderPasswordField } from "./account_fields.ts";
import { findPasswordIssues, PASSWORD_HINT } from "./password.ts";

/** The submitted values; without a second field, `again` equals `password`. */
export type NewPassword = { password: string; again: string };
export type NewPasswordIssues = { password: string[]; again: string[] };

export function readNewPassword(fields: ReadonlyMap<string, string>): NewPassword {
  const password = fields.get("password") ?? "";
  return { password, again: fields.get("password_again") ?? password };
}

/** All validation errors of both fields; `names` are words connected with the person. */
export function findNewPasswordIssues(
  { password, again }: NewPassword,
  names: readonly string[],
): NewPasswordIssues {
  return {
    password: findPasswordIssues(password, names),
    again: again === password ? [] : ["The passwords do not match."],
  };
}

export function renderNewPasswordFields(
  issues: NewPasswordIssues,
  options: { isFirst: boolean },
): Html[] {
  return [
    renderPasswordField({
      name: "password",
      label: "New password",
      autocomplete: "new-password",
      hint: PASSWORD_HINT,
      issues: issues.password,
      isFirst: options.isFirst,
    }),
    renderPasswordField({
      name: "password_again",
      label: "Confirm new password",
      autocomplete: "new-password",
      issues: issues.again,
    }),
  ];
}
