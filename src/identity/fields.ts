/** The fields of the sign-in and account pages. @module */

import type { FormField, FormFields } from "../pages/mod.ts";
import { isDisplayName, NAME_MAX_CHARS } from "../records/people/mod.ts";
import { EMAIL_MAX_CHARS } from "../std/patterns.ts";
import { findPasswordIssues, MAX_BYTES, PASSWORD_HINT } from "./passwords/password.ts";

export const EMAIL: FormField = {
  label: "Email address",
  type: "email",
  autocomplete: "username",
  maxLength: EMAIL_MAX_CHARS,
};

/** The name that apps show. */
export const NAME = {
  label: "Name",
  autocomplete: "name",
  maxLength: NAME_MAX_CHARS,
  isOptional: true,
  isRetained: true,
  check: (name: string): string[] => {
    if ([...name].length > NAME_MAX_CHARS) return [`Use at most ${NAME_MAX_CHARS} characters.`];
    return isDisplayName(name) ? [] : ["Use visible characters on one line."];
  },
} as const satisfies FormField;

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

/** The field of a person's new password: a button shows what is typed, so nobody types it twice. */
export function makeNewPasswordFields(person: {
  email: string;
  displayName?: string | null | undefined;
  appSlugs: readonly string[];
}): FormFields<"password"> {
  const { email, displayName, appSlugs } = person;
  const names = [email, displayName ?? [], appSlugs].flat();
  return {
    password: {
      ...PASSWORD,
      autocomplete: "new-password",
      label: "New password",
      hint: PASSWORD_HINT,
      check: (password) => findPasswordIssues(password, names),
    },
  };
}
