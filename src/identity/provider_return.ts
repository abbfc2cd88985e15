/** Where a sign-in with a provider returns to: read when it starts, and checked by the same rules again when it ends. @module */
import { type RequestContext, readParameters } from "../http/mod.ts";
import { checkAuthorizeQuery, readAuthorizeQuery } from "./authorize_query.ts";
import { isConsolePage, readConsoleReturn, toConsoleSignIn } from "./console_return.ts";
import { type PageDeps, readSessionOfPage } from "./page_deps.ts";
import { ACCOUNT_PROVIDERS_PATH, AUTHORIZE_PATH, CONSOLE_PATH, LOGIN_PATH } from "./paths.ts";
import type { ReturnTo } from "./provider_state.ts";

/** Longer addresses of the Console would not fit into a cookie. */
const MAX_CONSOLE_PATH = 1024;
const TO_LINKS = String(new URLSearchParams({ to: ACCOUNT_PROVIDERS_PATH }));

/** From the query of a sign-in page. @throws {Problem} invalid_request — it names an app, and that unclearly */
export function readReturnTo(query: string): ReturnTo {
  const names = [...readParameters(query)].map(([name]) => name);
  if (names.includes("app") || names.includes("redirect_uri"))
    return { kind: "app", ...readAuthorizeQuery(query) };
  if (!names.includes("to")) return { kind: "account" };
  if (query === TO_LINKS) return { kind: "links" };
  const path = readConsoleReturn(query);
  return { kind: "console", path: path.length > MAX_CONSOLE_PATH ? CONSOLE_PATH : path };
}

/** Whether the person must prove it anew: the Console and the list of links ask who is there now, not who once was. */
export function needsFresh({ kind }: ReturnTo): boolean {
  return kind === "console" || kind === "links";
}

/** Where the browser is sent, and the page on which a person may start again. */
export type CheckedReturn = { location: string; back: string };

/** @throws {Problem} unknown_app; invalid_request — the app has not registered it */
export async function checkReturnTo(
  deps: PageDeps,
  context: RequestContext,
  returnTo: ReturnTo,
): Promise<CheckedReturn> {
  if (returnTo.kind === "account") return { location: LOGIN_PATH, back: LOGIN_PATH };
  if (returnTo.kind === "links")
    return { location: ACCOUNT_PROVIDERS_PATH, back: ACCOUNT_PROVIDERS_PATH };
  if (returnTo.kind === "console") {
    const location = isConsolePage(returnTo.path) ? returnTo.path : CONSOLE_PATH;
    return { location, back: toConsoleSignIn(location) };
  }
  const { slug: app, redirectUri } = returnTo;
  const session = await readSessionOfPage(deps, context, app);
  const { href } = checkAuthorizeQuery(returnTo, session.app);
  const query = new URLSearchParams({ app, redirect_uri: redirectUri });
  return { location: href, back: `${AUTHORIZE_PATH}?${query}` };
}
