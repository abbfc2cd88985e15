/** Which page of the Console a sign-in returns to. @module */
import { readParameters } from "../http/mod.ts";
import { CONSOLE_PATH, CONSOLE_SIGN_IN_PATH } from "./paths.ts";

/** A page of the Console and nothing else: no other host, and no path that a browser reads as one. */
const OWN_PAGE = /^\/console(\/[a-z0-9_-]+)*(\?[\w.~%&=+-]*)?$/;

/** The page that a query names as `to`; else the first one. */
export function readConsoleReturn(query: string): string {
  for (const [name, value] of readParameters(query))
    if (name === "to" && isConsolePage(value)) return value;
  return CONSOLE_PATH;
}

export function isConsolePage(path: string): boolean {
  return OWN_PAGE.test(path);
}

/** Where the sign-in for that page is. */
export function toConsoleSignIn(location: string): string {
  return `${CONSOLE_SIGN_IN_PATH}?${new URLSearchParams({ to: location })}`;
}
