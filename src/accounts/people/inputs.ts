/** The inputs of actions on people. @module */

import { type Field, type Input, oneOfChoices } from "../../field.ts";
import { EMAIL_MAX_CHARS } from "../../std/stored_text.ts";
import { NAME_MAX_CHARS } from "./display_name.ts";
import type { ConsoleRole } from "./users.ts";

const ADDRESS = { placeholder: "email", maxLength: EMAIL_MAX_CHARS, inputMode: "email" } as const;
export const EMAIL: Field = { ...ADDRESS, label: "Address" };
export const NEW_EMAIL: Field = { ...ADDRESS, label: "New address" };

export const DISPLAY_NAME: Field = {
  label: "Name (optional)",
  hint: "Shown in apps.",
  placeholder: "text",
  maxLength: NAME_MAX_CHARS,
  isOptional: true,
};

export const APP_ROLE: Field = {
  label: "Role",
  hint: "`admin`, or a name that the app defines: lowercase letters, digits, `-` and `_`.",
  placeholder: "role",
  maxLength: 32,
  suggestions: ["member", "reader", "editor", "admin"],
};

export const CONSOLE_ROLE: Input<ConsoleRole | "none"> = {
  label: "Console role",
  hint: "With a Console role, a person is an administrator here and admin on every app.",
  placeholder: "role",
  maxLength: 20,
  ...oneOfChoices({ none: "none", admin: "admin", super_admin: "super admin" }),
};
