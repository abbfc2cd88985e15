/** The sign-in of the Console: first, or again before a sensitive act; then back to the page that asked for it. @module */
import { type RequestContext, readForm, readParameters } from "../http/mod.ts";
import {
  answerSignIn,
  answerSignInForm,
  CONSOLE_PATH,
  CONSOLE_SIGN_IN_PATH,
  readSessionOfPage,
  type SignInTarget,
} from "../identity/mod.ts";
import { Problem } from "../problem.ts";
import type { ConsolePageDeps } from "./enter.ts";

export async function answerConsoleSignIn(
  deps: ConsolePageDeps,
  context: RequestContext,
): Promise<Response> {
  checkConsole(deps);
  const { visitor, isConflict } = await readSessionOfPage(deps, context);
  const target = { ...toTarget(context), email: visitor?.email, isConflict };
  const lead =
    visitor === undefined
      ? "to open the Console"
      : "again, please: this needs a sign-in of the last 10 minutes";
  return answerSignInForm(deps, context, { ...target, lead });
}

export async function answerConsoleSignInForm(
  deps: ConsolePageDeps,
  context: RequestContext,
): Promise<Response> {
  checkConsole(deps);
  const fields = await readForm(context.request);
  const target = { ...toTarget(context), lead: "to open the Console" };
  return await answerSignIn(deps, context, { target, fields });
}

function checkConsole({ consoleDb }: ConsolePageDeps): void {
  if (consoleDb === undefined) throw new Problem("unknown_route");
}

function toTarget({ query }: RequestContext): SignInTarget {
  const location = readReturn(query);
  return { action: `${CONSOLE_SIGN_IN_PATH}?${new URLSearchParams({ to: location })}`, location };
}

/** A page of the Console and nothing else: no other host, and no path that a browser reads as one. */
const OWN_PAGE = /^\/console(\/[a-z0-9_-]+)*(\?[\w.~%&=+-]*)?$/;

function readReturn(query: string): string {
  for (const [name, value] of readParameters(query))
    if (name === "to" && OWN_PAGE.test(value)) return value;
  return CONSOLE_PATH;
}
