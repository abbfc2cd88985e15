/** How a function of the Console is made: it proves that an administrator asks, and is the Console's login's to call. @module */
import { defineShownFunction, type ShownFunction } from "./shown_function.ts";

/** `who` is the user who asks. */
export type ConsoleFunction = ShownFunction & {
  /** The Console role that it needs; a super_admin always has it. */
  needs?: "admin" | "super_admin";
  /** Whether it asks for a sign-in of the last ten minutes. */
  isSensitive?: boolean;
};

/** Its definition and its grant. */
export function defineConsoleFunction({
  needs = "admin",
  isSensitive = false,
  ...definition
}: ConsoleFunction): string {
  const proves = `who uuid := rowhouse.check_console(
    session_shown, identity_shown, idle_s, shown_from, '${needs}', ${isSensitive});`;
  return defineShownFunction(definition, { proves, logins: "rowhouse_console" });
}
