/**
 * The destination of a sign-in with several steps (provider, second factor): parsed at the start, and checked again by the
 * same rules at the end.
 *
 * @module
 */
import * as v from "valibot";
import { type RequestContext, readParameters } from "../http/mod.ts";
import { checkAuthorizeQuery, readAuthorizeQuery, toFormTargets } from "./authorize_query.ts";
import { type PageDeps, readSessionOfPage } from "./page_deps.tsx";
import { CONSOLE_PATH, PATHS } from "./paths.ts";

/** The destination after a sign-in. */
export const ReturnTo = v.variant("kind", [
  v.object({ kind: v.literal("account") }),
  v.object({ kind: v.literal("app"), slug: v.string(), redirectUri: v.string() }),
  v.object({ kind: v.literal("console"), path: v.string() }),
  v.object({ kind: v.literal("own"), path: v.string() }),
]);
export type ReturnTo = v.InferOutput<typeof ReturnTo>;

/** Matches only Console pages: no other host, and no path that a browser parses as a host. */
const OWN_PAGE = /^\/console(\/[a-z0-9_-]+)*(\?[\w.~:%&=+-]*)?$/;
/** Longer Console paths do not fit into a cookie. */
const MAX_CONSOLE_PATH = 1024;
/** Account pages that require a recent sign-in. */
const FRESH_PAGES: readonly string[] = [PATHS.linked, PATHS.security, PATHS.passkeys];
/** Account pages that a sign-in returns to. */
const OWN_PAGES: readonly string[] = [
  ...FRESH_PAGES,
  PATHS.account,
  PATHS.password,
  PATHS.sessions,
];

/** The destination in the query of a sign-in page. @throws {Problem} invalid_request — malformed or repeated app parameters */
export function readReturnTo(query: string): ReturnTo {
  const parameters = [...readParameters(query)];
  const names = parameters.map(([name]) => name);
  if (names.includes("app") || names.includes("redirect_uri"))
    return { kind: "app", ...readAuthorizeQuery(query) };
  const [, to] = parameters.find(([name]) => name === "to") ?? [];
  if (to === undefined) return { kind: "account" };
  if (OWN_PAGES.includes(to)) return { kind: "own", path: to };
  const path = readConsoleReturn(query);
  return { kind: "console", path: path.length > MAX_CONSOLE_PATH ? CONSOLE_PATH : path };
}

/** The Console page in the query's `to`; defaults to the first page. */
export function readConsoleReturn(query: string): string {
  for (const [name, value] of readParameters(query))
    if (name === "to" && isConsolePage(value)) return value;
  return CONSOLE_PATH;
}

function isConsolePage(path: string): boolean {
  return OWN_PAGE.test(path);
}

/** The path of the sign-in that returns to a Console page. */
export function toConsoleSignIn(location: string): string {
  return `${PATHS.consoleSignIn}?${new URLSearchParams({ to: location })}`;
}

/** The query of a destination, with its question mark; empty for the account page. */
export function toReturnQuery(returnTo: ReturnTo): string {
  if (returnTo.kind === "account") return "";
  const query =
    returnTo.kind === "app"
      ? { app: returnTo.slug, redirect_uri: returnTo.redirectUri }
      : { to: returnTo.path };
  return `?${new URLSearchParams(query)}`;
}

/** The page that asks for a second factor, on the way to a destination. */
export function toAddFactor(returnTo: ReturnTo): string {
  return `${PATHS.addFactor}${toReturnQuery(returnTo)}`;
}

/** Whether the destination requires a recent sign-in: the Console and some account pages do. */
export function needsFresh(returnTo: ReturnTo): boolean {
  if (returnTo.kind === "own") return FRESH_PAGES.includes(returnTo.path);
  return returnTo.kind === "console";
}

/** The sign-in that returns to an account page. */
export function toOwnSignIn(path: string): string {
  if (!OWN_PAGES.includes(path)) return PATHS.login;
  return `${PATHS.login}${toReturnQuery({ kind: "own", path })}`;
}

export type CheckedReturn = {
  location: string;
  /** The page to start again. */
  back: string;
  /** Origins for the `form-action` of forms that redirect there. */
  formTargets: string[];
};

/** @throws {Problem} unknown_app; invalid_request — the app has not registered it */
export async function checkReturnTo(
  deps: PageDeps,
  context: RequestContext,
  returnTo: ReturnTo,
): Promise<CheckedReturn> {
  if (returnTo.kind !== "app") return { ...checkOwn(returnTo), formTargets: [] };
  const session = await readSessionOfPage(deps, context, { slug: returnTo.slug });
  const { href } = checkAuthorizeQuery(returnTo, session.app);
  const back = `${PATHS.authorize}${toReturnQuery(returnTo)}`;
  return { location: href, back, formTargets: toFormTargets(deps.identity, href) };
}

/**
 * The destination after a second factor was added; `undefined` if the query has none.
 *
 * @throws {Problem} as {@linkcode checkReturnTo}
 */
export async function findDestination(
  deps: PageDeps,
  context: RequestContext,
): Promise<string | undefined> {
  const returnTo = readReturnTo(context.query);
  if (returnTo.kind === "account") return undefined;
  return (await checkReturnTo(deps, context, returnTo)).location;
}

function checkOwn(
  returnTo: Exclude<ReturnTo, { kind: "app" }>,
): Pick<CheckedReturn, "location" | "back"> {
  if (returnTo.kind === "account") return { location: PATHS.login, back: PATHS.login };
  if (returnTo.kind === "own") {
    const path = OWN_PAGES.find((page) => page === returnTo.path) ?? PATHS.login;
    return { location: path, back: path };
  }
  const location = isConsolePage(returnTo.path) ? returnTo.path : CONSOLE_PATH;
  return { location, back: toConsoleSignIn(location) };
}
