/** The Console page that a sign-in returns to. @module */
import { readParameters } from "../http/mod.ts";
import { CONSOLE_PATH, CONSOLE_SIGN_IN_PATH } from "./paths.ts";

/** Matches only Console pages: no other host, and no path that a browser parses as a host. */
const OWN_PAGE = /^\/console(\/[a-z0-9_-]+)*(\?[\w.~:%&=+-]*)?$/;

/** The Console page in the query's `to`; defaults to the first page. */
export function readConsoleReturn(query: string): string {
  for (const [name, value] of readParameters(query))
    if (name === "to" && isConsolePage(value)) return value;
  return CONSOLE_PATH;
}

export function isConsolePage(path: string): boolean {
  return OWN_PAGE.test(path);
}

/** The path of the sign-in that returns to a Console page. */
export function toConsoleSignIn(location: string): string {
  return `${CONSOLE_SIGN_IN_PATH}?${new URLSearchParams({ to: location })}`;
}
