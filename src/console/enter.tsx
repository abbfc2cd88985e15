/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * Access to the Console's pages: requires both cookies of an administrator. Redirects to the sign-in without a session, or if
 * the sign-in is too old for a sensitive action, and returns to the requested page. Everyone else sees only that access is
 * denied. The database decides, in the same call that reads or writes.
 *
 * @module
 */

import type { Database } from "../db/mod.ts";
import { type RequestContext, type StreamMemory, splitTarget, toTarget } from "../http/mod.ts";
import {
  CONSOLE_PATH,
  clearPlanted,
  FormRejected,
  PATHS,
  type PageDeps,
  readConsoleReturn,
  readOpenVisit,
  readPageForm,
  readSessionOfPage,
  type SignInTarget,
  signInPage,
  toActor,
  toConsoleSignIn,
} from "../identity/mod.ts";
import { redirect, renderCopyable, respondWithMessage } from "../pages/mod.ts";
import type { Preview } from "../preview.ts";
import { Problem } from "../problem.ts";
import {
  type ConsoleActor,
  ConsoleRejected,
  recordRejection,
  SecondFactorNeeded,
  SignInTooOld,
} from "../records/actions/mod.ts";
import { hasAdministrator } from "../records/apps/mod.ts";
import type { RowsKey } from "../records/console/mod.ts";
import { isIdText } from "../records/secrets/mod.ts";
import { MAX_PAGE_BYTES, RECENT_SIGN_IN } from "../std/limits.ts";
import { isUuid } from "../std/patterns.ts";
import type { FindSchemaFile } from "./schema_file.ts";

export type ConsolePageDeps = PageDeps & {
  /** Unset without a Console. */
  consoleDb: Database | undefined;
  keyPrefix: string;
  /** Sends a request to the gateway; unset if the gateway's address is unknown. */
  callApi: ((request: Request) => Promise<Response>) | undefined;
  /** Keys for rows, by a digest of visitor and use. */
  rowsKeys: Map<string, RowsKey>;
  /** Whether a path is the template of a route of any process. */
  isRoute: (path: string) => boolean;
  /** Whether a path is the template of a page. */
  isPage: (path: string) => boolean;
  previews: readonly Preview[];
  /** Finds sections of the docs, which are on the API's host. */
  searchGuides: (
    query: string,
  ) => readonly { readonly page: string; readonly title: string; readonly path: string }[];
  streamMemory: StreamMemory;
  /** Aborted at shutdown, to end event streams. */
  draining: AbortSignal;
  /** Only in `rowhouse dev`. */
  findSchemaFile: FindSchemaFile | undefined;
};

/** The notices after a form, by the value of `done` in the address of the page that follows. */
export type Notices = Readonly<Record<string, string>>;

/** A request for one page. */
export type Visit = {
  /** Dependencies with the cookies, which identify the actor. */
  deps: ConsolePageDeps & ConsoleActor;
  context: RequestContext;
  /** The sent form; empty for GET. */
  fields: ReadonlyMap<string, string>;
  token: string;
  /** Of all forms. */
  notices: Notices;
};

type Handle = (visit: Visit) => Promise<Response>;

/** @throws {Problem} unknown_route — there is no Console here; forbidden — the form is not the page's own */
export function enter(
  path: string,
  handle: Handle,
  notices: Notices,
  isScript = false,
): (deps: ConsolePageDeps, context: RequestContext) => Promise<Response> {
  return async (deps, context) => {
    const visit = { ...(await toVisit(deps, context, { path, isScript })), notices };
    try {
      return await handle(visit);
    } catch (error) {
      if (error instanceof SignInTooOld) return redirectToSignIn(context);
      if (error instanceof SecondFactorNeeded) return redirectToFactor(context);
      if (error instanceof ConsoleRejected) return await respondWithAccessDenied(deps, context);
      throw error;
    }
  };
}

async function toVisit(
  pageDeps: ConsolePageDeps,
  context: RequestContext,
  { path, isScript }: { path: string; isScript: boolean },
): Promise<Omit<Visit, "notices">> {
  const { consoleDb } = pageDeps;
  if (consoleDb === undefined) throw new Problem("unknown_route");
  const { method } = context.request;
  const isForm = method !== "GET" && method !== "HEAD";
  const deps = { ...pageDeps, consoleDb, isForm, ...toActor(pageDeps, context) };
  try {
    const options = { binding: "session", maxBytes: MAX_PAGE_BYTES, isScript } as const;
    return { deps, context, ...(await readPageForm(deps, context, options)) };
  } catch (error) {
    if (error instanceof FormRejected)
      await recordRejection(deps, path, error.isOfOtherSite ? "other_site" : "form_token");
    throw error;
  }
}

/** Redirects to the sign-in, which returns to this page. */
export function redirectToSignIn(
  { request }: RequestContext,
  cookies: readonly string[] = [],
): Response {
  const to = toTarget(splitTarget(request.url));
  return redirect(`${PATHS.consoleSignIn}?${new URLSearchParams({ to })}`, { cookies });
}

/** Redirects to the second factor page, which returns to this page. */
function redirectToFactor({ request }: RequestContext): Response {
  const to = request.method === "GET" ? toTarget(splitTarget(request.url)) : CONSOLE_PATH;
  return redirect(`${PATHS.addFactor}?${new URLSearchParams({ to })}`);
}

async function respondWithAccessDenied(
  deps: ConsolePageDeps,
  context: RequestContext,
): Promise<Response> {
  const { visitor } = await readSessionOfPage(deps, context);
  if (visitor === undefined)
    return redirectToSignIn(context, clearPlanted(context.request, deps.identity));
  const text = (
    <p>
      You are signed in as <strong>{visitor.email}</strong>, which is not an administrator account.
      Ask an administrator for access. Your account page lists your apps.
    </p>
  );
  return respondWithMessage(
    {
      ...{ title: "Access denied", heading: "The Console is for administrators", text },
      next: { name: "Your account", path: PATHS.login },
    },
    { status: 403 },
  );
}

// Parsers for form fields of the Console.

/** @throws {Problem} invalid_request — the form was not sent by its page */
export function readKeyId(text: string | undefined): string {
  if (text !== undefined && isIdText(text)) return text;
  throw new Problem("invalid_request", {
    message: "The form has no key id: reload the page and try again",
  });
}

/** @throws {Problem} invalid_request — the form was not sent by its page */
export function readPersonId(text = ""): string {
  if (isUuid(text)) return text;
  throw new Problem("invalid_request", {
    message: "The form has no person id: reload the page and try again",
  });
}

/** A hidden field whose value is sent in a header. @throws {Problem} invalid_request — the form was not sent by its page */
export function readHeaderValue(text = ""): string {
  if (/^[\x21-\x7e]{1,200}$/.test(text)) return text;
  throw new Problem("invalid_request", {
    message: "The form is incomplete: reload the page and try again",
  });
}

export function toMessages({ message, details = [] }: Problem): string[] {
  return details.length === 0 ? [message] : details.map((detail) => detail.message);
}

export function readText(fields: ReadonlyMap<string, string>, name: string): string {
  return (fields.get(name) ?? "").trim();
}

/** A field with one value per line. */
export function readLines(text: string | undefined): string[] {
  return (text ?? "")
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

const TO_OPEN = "to open the Console";

export async function handleConsoleSignIn(
  deps: ConsolePageDeps,
  context: RequestContext,
): Promise<Response> {
  checkConsole(deps);
  const { visitor, isConflict } = await readSessionOfPage(deps, context);
  if (visitor === undefined && !(await hasAdministrator(deps)))
    return respondWithUnclaimed(context);
  const lead =
    visitor === undefined
      ? TO_OPEN
      : `again: this page needs a sign-in within the last ${RECENT_SIGN_IN}`;
  const target = { ...toSignInTarget(context), lead, email: visitor?.email, isConflict };
  return await signInPage.show({ ...(await readOpenVisit(deps, context)), target });
}

export async function handleConsoleSignInForm(
  deps: ConsolePageDeps,
  context: RequestContext,
): Promise<Response> {
  checkConsole(deps);
  const target = { ...toSignInTarget(context), lead: TO_OPEN };
  return await signInPage.submit({ ...(await readOpenVisit(deps, context)), target });
}

const COMMAND = "rowhouse admin create-user you@example.org --role super_admin";

/** The first administrator is created with the CLI, never in a browser. */
function respondWithUnclaimed(context: RequestContext): Response {
  const text = (
    <>
      <p>Create the first administrator on the server, with the address for sign-in:</p>
      {renderCopyable("claim", COMMAND, {
        ...{ kind: "snippet", label: "The command", what: "the command" },
      })}
      <p>It prints a link that sets a password.</p>
    </>
  );
  return respondWithMessage({
    ...{ title: "No administrator yet", heading: "This service has no administrator yet", text },
    next: { name: "Sign in", path: toSignInTarget(context).action },
    scripts: ["page"],
    hasSignOut: false,
  });
}

function checkConsole({ consoleDb }: ConsolePageDeps): void {
  if (consoleDb === undefined) throw new Problem("unknown_route");
}

function toSignInTarget({ query }: RequestContext): SignInTarget {
  const location = readConsoleReturn(query);
  return { action: toConsoleSignIn(location), location };
}
