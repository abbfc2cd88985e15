/** The fields of the sign-in and account pages. @module */
import type { FormField, FormFields } from "../pages/mod.ts";
import { EMAIL_MAX_CHARS } from "../std/stored_text.ts";
import { findPasswordIssues, MAX_BYTES, PASSWORD_HINT } from "./password.ts";

export const EMAIL: FormField = {
  label: "Email address",
  type: "email",
  autocomplete: "username",
  maxLength: EMAIL_MAX_CHARS,
};

/** The current password. */
export const PASSWORD: FormField = {
  label: "Password",
  type: "password",
  autocomplete: "current-password",
  maxLength: MAX_BYTES,
};

/** The code of an authenticator app. */
export const CODE: FormField = {
  label: "Code",
  inputMode: "numeric",
  autocomplete: "one-time-code",
  maxLength: 40,
};

/** A check that rejects an empty value. */
export function rejectEmpty(issue: string) {
  return (value: string): string[] => (value === "" ? [issue] : []);
}

/** Both fields of a person's new password. A form can omit the second. */
export function makeNewPasswordFields(person: {
  email: string;
  displayName?: string | null | undefined;
  appSlugs: readonly string[];
}): FormFields<"password" | "password_again"> {
  const { email, displayName, appSlugs } = person;
  const names = [email, displayName ?? [], appSlugs].flat();
  const field = { ...PASSWORD, autocomplete: "new-password" } as const;
  return {
    password: {
      ...field,
      label: "New password",
      hint: PASSWORD_HINT,
      check: (password) => findPasswordIssues(password, names),
    },
    password_again: {
      ...field,
      label: "Confirm new password",
      check: (again, sent) =>
        again === sent.get("password") || !sent.has("password_again")
          ? []
          : ["The passwords do not match."],
    },
  };
}
