/** Whether a text can be a role on an app. @module */
import { ROLE_PATTERN } from "../../std/patterns.ts";

const ROLE = new RegExp(ROLE_PATTERN);

/** `super_admin` is a Console role, and never a role on an app. */
export function isAppRole(text: string): boolean {
  return ROLE.test(text) && text !== "super_admin";
}
