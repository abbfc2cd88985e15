/** The inputs of actions on people. @module */

import { EMAIL_MAX_CHARS } from "../../std/stored_text.ts";
import type { Field } from "../actions/input.ts";
import { NAME_MAX_CHARS } from "./display_name.ts";
import { CONSOLE_ROLES } from "./users.ts";

const ADDRESS = { placeholder: "email", maxChars: EMAIL_MAX_CHARS, isEmail: true } as const;
export const EMAIL: Field = { ...ADDRESS, label: "Address", isRequired: true };
export const NEW_EMAIL: Field = { ...ADDRESS, label: "New address", isRequired: true };

export const DISPLAY_NAME: Field = {
  label: "Name (optional)",
  hint: "Shown in apps.",
  placeholder: "text",
  maxChars: NAME_MAX_CHARS,
};

export const APP_ROLE: Field = {
  label: "Role",
  hint: "`admin`, or a name that the app defines: lowercase letters, digits, `-` and `_`.",
  placeholder: "role",
  maxChars: 32,
  suggestions: ["member", "reader", "editor", "admin"],
};

export const CONSOLE_ROLE: Field = {
  label: "Console role",
  hint: "With a Console role, a person is an administrator here and admin on every app.",
  placeholder: "role",
  maxChars: 20,
  choices: {
    none: "none",
    ...Object.fromEntries(CONSOLE_ROLES.map((role) => [role, role.replace("_", " ")])),
  },
};
